/** The usual ways in which a server shows a text. */
export const encodings: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'in upper case': (text) => text.toUpperCase(),
  'in JSON': (text) => JSON.stringify({ key: text }),
  'in a URL': encodeURIComponent,
  'in base64': (text) => Buffer.from(text).toString('base64'),
  'as Basic authentication': (text) => Buffer.from(`me:${text}`).toString('base64'),
  'in base64 of a header': (text) => Buffer.from(`Bearer ${text}\n`).toString('base64url'),
}
