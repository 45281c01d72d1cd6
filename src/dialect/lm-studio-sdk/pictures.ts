/** The types of pictures by their first bytes. */
const types = [
  ['image/png', '89504e47'],
  ['image/jpeg', 'ffd8ff'],
  ['image/gif', '47494638'],
  ['image/webp', '52494646'],
] as const

const prefix = 'base64:'

/** The reply to an upload; undefined for any other file than a picture. Its identifier is its content, which comes back in a message. */
export function encodeUpload(contentBase64: string) {
  if (typeOf(contentBase64) === undefined) return undefined
  const sizeBytes = Buffer.byteLength(contentBase64, 'base64')
  return { identifier: prefix + contentBase64, fileType: 'image', sizeBytes }
}

export function pictureUrl(identifier: string): string {
  const content = identifier.startsWith(prefix) ? identifier.slice(prefix.length) : ''
  return `data:${typeOf(content) ?? 'image/unknown'};base64,${content}`
}

function typeOf(contentBase64: string): string | undefined {
  const start = Buffer.from(contentBase64.slice(0, 16), 'base64').toString('hex')
  return types.find(([, magic]) => start.startsWith(magic))?.[0]
}
