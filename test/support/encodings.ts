const percentEncoded = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
const unicodeEscaped = (text: string) => [...text].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
const htmlEncoded = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** The ways in which a server may show a text. */
export const encodings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'in upper case': (text) => text.toUpperCase(),
  'in JSON': (text) => JSON.stringify({ key: text }),
  'in JSON in JSON': (text) => JSON.stringify(JSON.stringify({ key: text })),
  'in characters of JSON': unicodeEscaped,
  'in a URL': encodeURIComponent,
  'in a URL, whole': percentEncoded,
  'in a URL, twice': (text) => percentEncoded(percentEncoded(text)),
  'in HTML': htmlEncoded,
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'as Basic authentication': (text) => Buffer.from(`me:${text}`).toString('base64'),
  'in base64 of a header': (text) => Buffer.from(`Bearer ${text}\n`).toString('base64url'),
  'in hexadecimal': (text) => Buffer.from(text).toString('hex'),
  'cut off': (text) => text.slice(0, -3),
}
