import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy, type BusboyHeaders } from '@fastify/busboy'
import { AppError } from '../contract/errors.ts'
import type { FormPart } from '../contract/services.ts'
import type { BodyShare } from './body-room.ts'
import { noRoom, tooLarge } from './read-body.ts'

type FormInput = {
  readonly headers: IncomingHttpHeaders
  readonly body: Readable
  readonly limitBytes: number
  readonly share: BodyShare
}

/** A form has few fields, but a transcription's `prompt` may be long. */
const limits = { files: 4, fields: 64, fieldNameSize: 100, fieldSize: 1024 * 1024, headerPairs: 50 }
/** What arrived, and the form that is made of it for the server. */
const copies = 2

/** The whole of a body of `multipart/form-data`: its fields and files, in their order. */
export async function readForm({ headers, body, limitBytes, share }: FormInput): Promise<readonly FormPart[]> {
  if (Number(headers['content-length'] ?? 0) > limitBytes) throw tooLarge(limitBytes)
  const parser = createParser(headers)
  const parts: (() => FormPart)[] = []
  try {
    await new Promise<void>((resolve, reject) => {
      const refuse = (message: string) => reject(new AppError('invalid-request', message))
      let sizeBytes = 0
      body.on('data', (piece: Buffer) => {
        sizeBytes += piece.length
        if (sizeBytes > limitBytes) reject(tooLarge(limitBytes))
        else if (!share.grow(copies * piece.length)) reject(noRoom())
      })
      body.on('error', reject)
      parser.on('field', (name, value, isNameCut, isCut) => {
        if (isNameCut || isCut) refuse(`the field '${name.slice(0, 40)}' is too long`)
        parts.push(() => ({ name, value }))
      })
      parser.on('file', (name, stream, filename, _, mediaType) => {
        const pieces: Buffer[] = []
        stream.on('data', (piece: Buffer) => pieces.push(piece))
        stream.on('error', () => undefined)
        parts.push(() => ({ name, filename: filename ?? 'file', mediaType, bytes: Buffer.concat(pieces) }))
      })
      parser.on('filesLimit', () => refuse(`the body has more than ${limits.files} files`))
      parser.on('fieldsLimit', () => refuse(`the body has more than ${limits.fields} fields`))
      parser.on('error', (error) => refuse(`the body is not multipart/form-data: ${String(error)}`))
      parser.on('finish', resolve)
      body.pipe(parser)
    })
  } catch (error) {
    body.unpipe(parser)
    parser.destroy()
    throw error
  } finally {
    body.resume()
  }
  return parts.map((part) => part())
}

function createParser(headers: IncomingHttpHeaders) {
  try {
    return new Busboy({ headers: headers as BusboyHeaders, limits })
  } catch (error) {
    throw new AppError('invalid-request', 'the content type names no boundary: send multipart/form-data', { cause: error })
  }
}
