//! Signatures: the algorithms that tokens may be signed with (RFC 7518, section 3; RFC 8037), and
//! the public keys for them.

use std::fmt;

use crypto_bigint::modular::{FixedMontyForm, FixedMontyParams};
use crypto_bigint::{Odd, U64, U4096};
use p256::ecdsa::signature::Verifier;
use sha2::{Digest, Sha256};

/// How a token is signed. There is no `none`, and nothing that is made with a shared secret: who
/// could check such a signature could forge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// By its registered name; that of Ed25519 is old (RFC 8037) or new (RFC 9864).
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }
}

/// A public key. It is good for one algorithm alone, so no token can choose another for it.
#[derive(Clone, Debug)]
pub struct Key(Kind);

#[derive(Clone)]
enum Kind {
    Rsa(Box<Rsa>),
    P256(Box<p256::ecdsa::VerifyingKey>),
    Ed25519(ed25519_compact::PublicKey),
}

#[derive(Clone)]
struct Rsa {
    modulus: FixedMontyParams<{ U4096::LIMBS }>,
    /// How long a signature is.
    bytes: usize,
    exponent: u32,
}

/// The least and the most bits of a modulus: RFC 7518 (section 3.3) asks for 2048; more than 4096
/// takes long to check and nobody's needs it.
const RSA_BITS: std::ops::RangeInclusive<u32> = 2048..=4096;

/// What stands before the hash in a signature: the name of SHA-256 (RFC 8017, section 9.2, note 1).
const SHA256_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

impl Key {
    /// A key for RS256: modulus and exponent, big-endian.
    ///
    /// # Errors
    /// A clause that fits behind "the key".
    pub fn rsa(modulus: &[u8], exponent: &[u8]) -> Result<Self, &'static str> {
        // A leading zero is against RFC 7518 (section 6.3.1.1), but some write the sign of a number.
        let modulus = without_zeros(modulus);
        let exponent = without_zeros(exponent);
        let bits = (modulus.len() * 8) as u32 - modulus.first().map_or(0, |first| first.leading_zeros());
        if !RSA_BITS.contains(&bits) {
            return Err("has a modulus of less than 2048 or more than 4096 bits");
        }
        let mut padded = [0; U4096::BYTES];
        padded[U4096::BYTES - modulus.len()..].copy_from_slice(modulus);
        let odd = Odd::new(U4096::from_be_slice(&padded)).into_option().ok_or("has an even modulus")?;
        let exponent = exponent.iter().fold(0u64, |sum, byte| (sum << 8 | u64::from(*byte)).min(1 << 40));
        match u32::try_from(exponent) {
            Ok(exponent) if exponent >= 3 && exponent % 2 == 1 => Ok(Self(Kind::Rsa(Box::new(Rsa {
                modulus: FixedMontyParams::new_vartime(odd),
                bytes: modulus.len(),
                exponent,
            })))),
            _ => Err("has an exponent that is even, 1 or very large"),
        }
    }

    /// A key for ES256: the coordinates of a point, 32 bytes each.
    ///
    /// # Errors
    /// A clause that fits behind "the key".
    pub fn p256(x: &[u8], y: &[u8]) -> Result<Self, &'static str> {
        if x.len() != 32 || y.len() != 32 {
            return Err("has coordinates that are not 32 bytes long");
        }
        let key = p256::ecdsa::VerifyingKey::from_sec1_bytes(&[&[4], x, y].concat());
        key.map(|key| Self(Kind::P256(Box::new(key)))).map_err(|_| "is no point of the curve P-256")
    }

    /// A key for Ed25519: 32 bytes.
    ///
    /// # Errors
    /// A clause that fits behind "the key".
    pub fn ed25519(x: &[u8]) -> Result<Self, &'static str> {
        let key = ed25519_compact::PublicKey::from_slice(x).map_err(|_| "is not 32 bytes long")?;
        // Also keeps out points of small order, for which signatures can be had without the key.
        key.validate().map_err(|_| "is no sound point of the curve Ed25519")?;
        Ok(Self(Kind::Ed25519(key)))
    }

    /// What it is good for.
    pub fn algorithm(&self) -> Algorithm {
        match self.0 {
            Kind::Rsa(_) => Algorithm::Rs256,
            Kind::P256(_) => Algorithm::Es256,
            Kind::Ed25519(_) => Algorithm::EdDsa,
        }
    }

    /// Whether the signature was made for this message with the other half of the key.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.0 {
            Kind::Rsa(key) => key.verifies(message, signature),
            Kind::P256(key) => {
                let signature = p256::ecdsa::Signature::from_slice(signature);
                signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
            Kind::Ed25519(key) => {
                let signature = ed25519_compact::Signature::from_slice(signature);
                signature.is_ok_and(|signature| key.verify(message, &signature).is_ok())
            }
        }
    }
}

impl Rsa {
    /// RFC 8017, section 8.2.2. What the signature stands for is not taken apart, it is compared
    /// with the one block that it must be: all forgeries of the past lived in readers of it.
    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        if signature.len() != self.bytes {
            return false;
        }
        let mut padded = [0; U4096::BYTES];
        padded[U4096::BYTES - self.bytes..].copy_from_slice(signature);
        let number = U4096::from_be_slice(&padded);
        if number >= *self.modulus.modulus().as_ref() {
            return false;
        }
        // Nothing here is secret, so the time may depend on the exponent.
        let power = FixedMontyForm::new(&number, &self.modulus).pow_vartime(&U64::from(self.exponent));
        let mut expected = [0; U4096::BYTES];
        let block = &mut expected[U4096::BYTES - self.bytes..];
        let (padding, digest) = block.split_at_mut(self.bytes - SHA256_INFO.len() - 32);
        padding.fill(0xff);
        padding[..2].copy_from_slice(&[0, 1]);
        if let Some(last) = padding.last_mut() {
            *last = 0;
        }
        digest[..SHA256_INFO.len()].copy_from_slice(&SHA256_INFO);
        digest[SHA256_INFO.len()..].copy_from_slice(&Sha256::digest(message));
        power.retrieve() == U4096::from_be_slice(&expected)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Rsa(_) => "RSA",
            Kind::P256(_) => "P-256",
            Kind::Ed25519(_) => "Ed25519",
        })
    }
}

fn without_zeros(mut bytes: &[u8]) -> &[u8] {
    while let [0, rest @ ..] = bytes {
        bytes = rest;
    }
    bytes
}
