import { JoinedPieces } from '../../base/joined-pieces.ts'
import type { FormPart } from '../../contract/services.ts'
import type { BodyShare } from './body-room.ts'
import { type FormBody, parseForm } from './parse-form.ts'
import { noRoom, tooLarge } from './read-body.ts'

type FormInput = FormBody & {
  readonly limitBytes: number
  readonly share: BodyShare
}

/** The most files are the 16 pictures of an edit and its mask. A form has few fields, but a transcription's `prompt` may be long. */
const limits = { files: 17, fields: 64, fieldNameSize: 100, fieldSize: 1024 * 1024, headerPairs: 50 }
/** The received form, and the form made from it for the server. */
const copies = 2

/** A complete body of `multipart/form-data`: its fields and files, in order. */
export async function readForm({ headers, body, limitBytes, share }: FormInput): Promise<readonly FormPart[]> {
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
  const parts: (() => FormPart)[] = []
  let sizeBytes = 0
  const onPiece = (piece: Buffer) => {
    sizeBytes += piece.length
    if (sizeBytes > limitBytes) throw tooLarge(limitBytes)
    if (!share.grow(copies * piece.length)) throw noRoom()
  }
  await parseForm({ headers, body, limits, onPiece }, (parser) => {
    parser.on('field', (name, value) => parts.push(() => ({ name, value })))
    parser.on('file', (name, stream, filename, _, mediaType) => {
      const pieces = new JoinedPieces()
      stream.on('data', (piece: Buffer) => pieces.push(piece))
      // The parser reports it, too.
      stream.on('error', () => undefined)
      parts.push(() => ({ name, filename: filename ?? 'file', mediaType, bytes: pieces.end() }))
    })
  })
  return parts.map((part) => part())
}
