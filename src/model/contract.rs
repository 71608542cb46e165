//! Names of hash contracts and sets of them (hash contract §14).
//!
//! Which contracts a remote declares is its own business; this file only knows which ones can be
//! computed.

/// A hash contract this library can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Contract {
    /// `dpe1`, the contract of hash contract 1.
    Dpe1,
    /// `dpex`, the drill contract: artificial, only for tests of code for several contracts.
    Dpex,
}

impl Contract {
    /// The contract used unless another one is selected.
    pub const DEFAULT: Self = Self::Dpe1;

    /// All contracts that can be computed.
    pub const KNOWN: [Self; 2] = [Self::Dpe1, Self::Dpex];

    /// Returns the contract of that exact name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::KNOWN
            .into_iter()
            .find(|contract| contract.name() == name)
    }

    /// Returns the name, which is also the prefix of hash values.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dpe1 => "dpe1",
            Self::Dpex => "dpex",
        }
    }

    /// Returns the bytes that precede the canonical bytes in the preimage.
    pub(super) const fn salt(self) -> &'static [u8] {
        match self {
            Self::Dpe1 => b"",
            Self::Dpex => b"dpex",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of contracts, such as the ones a remote declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contracts(u8);

impl Contracts {
    /// What a production remote supports: `dpe1`.
    pub const SUPPORTED: Self = Self(Contract::Dpe1.bit());

    /// Returns the set without members.
    pub const fn none() -> Self {
        Self(0)
    }

    /// Returns the set of one contract.
    pub const fn only(contract: Contract) -> Self {
        Self(contract.bit())
    }

    /// Returns this set with one more member.
    #[must_use]
    pub const fn with(self, contract: Contract) -> Self {
        Self(self.0 | contract.bit())
    }

    /// Returns true if `contract` is a member.
    pub const fn contains(self, contract: Contract) -> bool {
        self.0 & contract.bit() != 0
    }

    /// Returns the members, oldest contract first.
    pub fn iter(self) -> impl Iterator<Item = Contract> {
        Contract::KNOWN
            .into_iter()
            .filter(move |&contract| self.contains(contract))
    }
}

impl FromIterator<Contract> for Contracts {
    fn from_iter<I: IntoIterator<Item = Contract>>(contracts: I) -> Self {
        contracts.into_iter().fold(Self::none(), Self::with)
    }
}
