//! A certificate that is made when none is given. It proves nothing, but it keeps tokens secret.

use std::net::IpAddr;

use anyhow::{Context as _, Result};
use jiff::civil::Date;
use jiff::{Span, Timestamp, tz::TimeZone};
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::tls::Text;
use crate::lease::hostname;

/// Validity begins before it is made, so that it is good at once where clocks are slow.
const DAYS_BEFORE: i64 = 2;
const YEARS: i64 = 10;

/// Makes a certificate and its key.
pub(super) fn make(address: IpAddr) -> Result<Text> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    text(&hostname(), address, today).context("making a certificate")
}

fn text(host: &str, address: IpAddr, today: Date) -> Result<Text> {
    let mut params = CertificateParams::new(names(host, address))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("kubenexus-scheduler@{host}"));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let (begin, end) = (Span::new().days(-DAYS_BEFORE), Span::new().years(YEARS));
    let midnight = |date: Date| {
        let [month, day] = [date.month(), date.day()].map(i8::unsigned_abs);
        date_time_ymd(date.year().into(), month, day)
    };
    params.not_before = midnight(today.saturating_add(begin));
    params.not_after = midnight(today.saturating_add(end));
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Text { certificate: certificate.pem().into(), key: key.serialize_pem().into() })
}

/// Under which names and addresses it is valid.
fn names(host: &str, address: IpAddr) -> Vec<String> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let address = (!address.is_unspecified()).then(|| address.to_string());
    let host = host.bytes().all(is_name).then(|| host.to_owned());
    for name in host.into_iter().chain(address) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_host_and_where_it_listens() {
        let any = IpAddr::from([0, 0, 0, 0]);
        assert_eq!(names("pod-1", any), ["localhost", "127.0.0.1", "pod-1"]);
        let one = IpAddr::from([10, 1, 2, 3]);
        assert_eq!(names("localhost", one), ["localhost", "127.0.0.1", "10.1.2.3"]);
        assert_eq!(names("not a name", any), ["localhost", "127.0.0.1"]);
    }
}
