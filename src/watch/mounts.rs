//! File systems whose changes nobody announces: they are made by others, or on the other side of
//! a border.

/// The kinds by the number that the system has for them, and what people call them.
///
/// overlayfs, the root of most containers, is not among them: what is changed through a mount of
/// it is announced there.
const BLIND: [(u32, &str); 19] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB"),
    (0x0102_1997, "9p"),
    // Also what containers on other systems see of their host (virtiofs, gRPC FUSE).
    (0x6573_5546, "FUSE"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x786f_4256, "vboxsf"),
    (0x7c7c_6673, "prl_fs"),
    (0xbacb_acbc, "vmhgfs"),
    (0x5346_4846, "DrvFs"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
];

/// What the file system is called, if it keeps changes to itself.
pub fn blind(kind: u32) -> Option<&'static str> {
    BLIND.iter().find(|(number, _)| *number == kind).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_blind_and_a_disk_is_not() {
        assert_eq!(blind(0x6969), Some("NFS"));
        assert_eq!(blind(0x6573_5546), Some("FUSE"));
        // ext4, tmpfs, btrfs, xfs, overlayfs
        for seeing in [0xef53, 0x0102_1994, 0x9123_683e, 0x5846_5342, 0x794c_7630] {
            assert_eq!(blind(seeing), None);
        }
    }
}
