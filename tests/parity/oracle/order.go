package main

import (
	"cmp"
	"slices"

	"k8s.io/client-go/tools/cache"
)

// sortedIndexer lists objects by namespace and name. kube-scheduler lists them in
// the random order of a map, and which of two equally good volumes or storage
// capacities it takes depends on that; the first by name is one of its answers,
// and the same one in every run.
type sortedIndexer struct{ cache.Indexer }

func (i sortedIndexer) List() []any { return sorted(i.Indexer.List()) }

func (i sortedIndexer) Index(indexName string, obj any) ([]any, error) {
	objects, err := i.Indexer.Index(indexName, obj)
	return sorted(objects), err
}

func (i sortedIndexer) ByIndex(indexName, value string) ([]any, error) {
	objects, err := i.Indexer.ByIndex(indexName, value)
	return sorted(objects), err
}

func sorted(objects []any) []any {
	slices.SortFunc(objects, func(a, b any) int { return cmp.Compare(key(a), key(b)) })
	return objects
}

// key is empty for what is no API object, of which the stores have none.
func key(obj any) string {
	key, _ := cache.MetaNamespaceKeyFunc(obj)
	return key
}
