//! What is known of products by their exact names, or by their PCI ids: the last source, where
//! nobody tells of a device what it has.
//!
//! Names are those that the vendors' libraries report, and as labels have them, with `-` for
//! blanks. Memory is what the driver of a whole device reports as its total, which is less than the
//! round number that it is sold by. Entries whose figures could not be found in public are left
//! out; so are PCI ids that stand for products with different memory.

use crate::hardware::GpuLink;

/// A product.
#[derive(Debug, PartialEq, Eq)]
pub struct Product {
    /// What its vendor's library calls it.
    pub name: &'static str,
    /// Vendor and device by PCI ids.
    pub pci: &'static [(u16, u16)],
    /// Its memory in MiB.
    pub memory_mib: u64,
    /// How several of them on a node reach each other, where that follows from the product: modules
    /// have NVLink, cards may have bridges unless they have no connector for them.
    pub link: Option<GpuLink>,
    /// Where it was looked up.
    pub source: &'static str,
}

/// The product with a name, with blanks or with `-` in their place.
#[must_use]
pub fn product_by_name(name: &str) -> Option<&'static Product> {
    let plain = |letter: u8| if letter == b' ' { b'-' } else { letter };
    let is_it = |known: &&Product| known.name.bytes().map(plain).eq(name.bytes().map(plain));
    PRODUCTS.iter().find(is_it)
}

/// The product with these PCI ids.
#[must_use]
pub fn product_by_pci(vendor: u16, device: u16) -> Option<&'static Product> {
    PRODUCTS.iter().find(|known| known.pci.contains(&(vendor, device)))
}

const NVIDIA: u16 = 0x10de;
const AMD: u16 = 0x1002;

/// Links follow from the form of a product: SXM boards and superchips have NVLink, cards without a
/// connector for bridges have PCIe. What a card with one has depends on the machine.
const NVLINK: Option<GpuLink> = Some(GpuLink::NvLink);
const PCIE: Option<GpuLink> = Some(GpuLink::Pcie);

/// Names and PCI ids are in the table of supported GPUs of NVIDIA's open kernel modules, ids in the
/// PCI ID Repository as well, and totals in published output of `nvidia-smi`.
const OPEN: &str = "README of github.com/NVIDIA/open-gpu-kernel-modules; pci.ids of 2026-08-22; \
                    nvidia-smi --query-gpu=name,memory.total as published";
/// Not looked up in that table.
const OLD: &str = "pci.ids of 2026-08-22; nvidia-smi --query-gpu=name,memory.total as published";
/// AMD's own pages, and its table of marketing names for the ids.
const ROCM: &str =
    "pci.ids of 2026-08-22; amdgpu.ids of libdrm; specifications at rocm.docs.amd.com";

const fn nvidia(
    name: &'static str,
    pci: &'static [(u16, u16)],
    memory_mib: u64,
    link: Option<GpuLink>,
    source: &'static str,
) -> Product {
    Product { name, pci, memory_mib, link, source }
}

const fn amd(name: &'static str, pci: &'static [(u16, u16)], gib: u64) -> Product {
    Product { name, pci, memory_mib: gib << 10, link: None, source: ROCM }
}

static PRODUCTS: [Product; 30] = [
    nvidia("NVIDIA GB200", &[(NVIDIA, 0x2941)], 189_471, NVLINK, OPEN),
    nvidia("NVIDIA B200", &[(NVIDIA, 0x2901)], 183_359, NVLINK, OPEN),
    nvidia("NVIDIA H200", &[(NVIDIA, 0x2335)], 143_771, NVLINK, OPEN),
    nvidia("NVIDIA H100 80GB HBM3", &[(NVIDIA, 0x2330)], 81_559, NVLINK, OPEN),
    nvidia("NVIDIA H100 NVL", &[(NVIDIA, 0x2321)], 95_830, None, OPEN),
    nvidia("NVIDIA H100 PCIe", &[(NVIDIA, 0x2331)], 81_559, None, OPEN),
    nvidia("NVIDIA H20", &[(NVIDIA, 0x2329)], 97_871, NVLINK, OPEN),
    nvidia("NVIDIA GH200 480GB", &[], 97_871, NVLINK, OPEN),
    nvidia("NVIDIA A100-SXM4-80GB", &[(NVIDIA, 0x20b2)], 81_920, NVLINK, OPEN),
    nvidia("NVIDIA A100-SXM4-40GB", &[(NVIDIA, 0x20b0)], 40_960, NVLINK, OPEN),
    nvidia("NVIDIA A100 80GB PCIe", &[(NVIDIA, 0x20b5)], 81_920, None, OPEN),
    nvidia("NVIDIA A100-PCIE-40GB", &[(NVIDIA, 0x20f1)], 40_960, None, OPEN),
    nvidia("NVIDIA A30", &[(NVIDIA, 0x20b7)], 24_576, None, OPEN),
    nvidia("NVIDIA A40", &[(NVIDIA, 0x2235)], 46_068, None, OPEN),
    nvidia("NVIDIA A10", &[(NVIDIA, 0x2236)], 23_028, PCIE, OPEN),
    nvidia("NVIDIA A10G", &[(NVIDIA, 0x2237)], 23_028, PCIE, OPEN),
    nvidia("NVIDIA L40S", &[(NVIDIA, 0x26b9)], 46_068, PCIE, OPEN),
    nvidia("NVIDIA L40", &[(NVIDIA, 0x26b5)], 46_068, PCIE, OPEN),
    nvidia("NVIDIA L4", &[(NVIDIA, 0x27b8)], 23_034, PCIE, OPEN),
    nvidia("NVIDIA RTX 6000 Ada Generation", &[(NVIDIA, 0x26b1)], 49_140, PCIE, OPEN),
    nvidia("NVIDIA RTX A6000", &[(NVIDIA, 0x2230)], 49_140, None, OPEN),
    nvidia("NVIDIA RTX PRO 6000 Blackwell Server Edition", &[(NVIDIA, 0x2bb5)], 97_887, PCIE, OLD),
    nvidia("Tesla T4", &[(NVIDIA, 0x1eb8)], 15_360, PCIE, OLD),
    nvidia("Tesla V100-SXM2-32GB", &[(NVIDIA, 0x1db5)], 32_768, NVLINK, OLD),
    nvidia("Tesla V100-SXM2-16GB", &[(NVIDIA, 0x1db1)], 16_384, NVLINK, OLD),
    nvidia("Tesla V100-PCIE-32GB", &[(NVIDIA, 0x1db6)], 32_768, PCIE, OLD),
    nvidia("Tesla V100-PCIE-16GB", &[(NVIDIA, 0x1db4)], 16_384, PCIE, OLD),
    amd("AMD Instinct MI325X", &[(AMD, 0x74a5)], 256),
    amd("AMD Instinct MI300X OAM", &[(AMD, 0x74a1)], 192),
    amd("AMD Instinct MI300X", &[], 192),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_found_by_exact_names_with_blanks_or_without_and_by_pci_ids() {
        let table = [
            ("NVIDIA H100 80GB HBM3", Some(81_559)),
            ("NVIDIA-H100-80GB-HBM3", Some(81_559)),
            ("NVIDIA-A100-SXM4-40GB", Some(40_960)),
            ("NVIDIA-A100-SXM4-80GB", Some(81_920)),
            ("Tesla-T4", Some(15_360)),
            ("AMD-Instinct-MI300X-OAM", Some(196_608)),
            ("NVIDIA-H100", None),
            ("NVIDIA-H100-80GB-HBM3-SHARED", None),
            ("NVIDIA H100 80GB HBM3 ", None),
            ("nvidia h100 80gb hbm3", None),
            ("H100", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(product_by_name(name).map(|it| it.memory_mib), expected, "{name:?}");
        }
        assert_eq!(product_by_pci(NVIDIA, 0x2330), product_by_name("NVIDIA-H100-80GB-HBM3"));
        assert_eq!(product_by_pci(AMD, 0x2330), None);
    }

    #[test]
    fn every_name_and_every_pci_id_is_there_once_with_its_source() {
        for (at, product) in PRODUCTS.iter().enumerate() {
            assert!(!product.source.is_empty() && product.memory_mib > 0, "{product:?}");
            assert_eq!(product_by_name(product.name), Some(&PRODUCTS[at]));
            for (vendor, device) in product.pci {
                assert_eq!(product_by_pci(*vendor, *device), Some(&PRODUCTS[at]));
            }
        }
    }
}
