// Go takes a function without a body only in a package that has a file in assembly.
