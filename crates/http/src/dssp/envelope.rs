//! What all envelopes have that are written.

use super::xml::escape;

pub(super) const SOAP_12: &str = "http://www.w3.org/2003/05/soap-envelope";
pub(super) const SOAP_11: &str = "http://schemas.xmlsoap.org/soap/envelope/";
pub(super) const ADDRESSING: &str = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
pub(super) const DSSP: &str = "http://schemas.microsoft.com/xw/2004/10/dssp.html";

/// Where an answer goes: the way the message came.
pub(super) const ANONYMOUS: &str =
    "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous";

/// An envelope with these headers, which are XML, beside its action and its address.
pub(super) fn envelope(soap: &str, to: &str, headers: &str, action: &str, body: &str) -> String {
    let to = escape(to);
    format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<s:Envelope xmlns:s=\"{soap}\" \
         xmlns:a=\"{ADDRESSING}\" xmlns:d=\"{DSSP}\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><s:Header>\
         <a:Action>{DSSP}:{action}</a:Action>{headers}<a:To>{to}</a:To></s:Header>\
         <s:Body>{body}</s:Body></s:Envelope>"
    )
}

/// The type of a body that is an envelope of this version.
pub(super) fn kind(soap: &str) -> &'static str {
    match soap {
        SOAP_11 => "text/xml; charset=utf-8",
        _ => "application/soap+xml; charset=utf-8",
    }
}

/// An element that is written, with the names of a contract.
pub(super) fn of_contract(mut element: String, contract: &str) -> String {
    let first = element.find([' ', '>', '/']).unwrap_or(element.len());
    element.insert_str(first, &format!(" xmlns=\"{}\"", escape(contract)));
    element
}
