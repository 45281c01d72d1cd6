import { z } from 'zod'
import type { MediaBytes } from '../../contract/media.ts'
import { type ReadDocument, readDocument } from '../../documents/read-document.ts'
import { readText } from '../../documents/text.ts'
import { argsOfScript } from './own-script.ts'
import { ProgramFailure, runProgram } from './run-program.ts'

const timeoutMs = 60_000
/** A page can unpack to any size, in buffers that V8 does not count. */
const maxMemoryBytes = 768 * 1024 * 1024
/** The longest text, in UTF-8 and as JSON, or pictures. */
const maxOutputBytes = 64 * 1024 * 1024

/** As PNG, in base64. */
export type DrawnPicture = { readonly png: string }

const partSchema = z.union([z.string(), z.object({ png: z.string() })])
const replySchema = z.union([
  z.object({ kind: z.string(), parts: z.array(partSchema) }),
  z.object({ reason: z.string(), problem: z.string() }),
]) as z.ZodType<ReadDocument<DrawnPicture>>

/**
 * The text of a document, with pictures of pages for models that see, or why it has none. All but plain text is read in a separate process,
 * whose time and memory are bounded. Rejects with the signal's reason.
 */
export async function convertDocument(
  { base64 }: MediaBytes,
  sees: boolean,
  signal: AbortSignal,
): Promise<ReadDocument<DrawnPicture>> {
  const input = Buffer.from(base64, 'base64')
  if (readText(input) !== undefined) return readDocument(input)
  const args = [...argsOfScript('document-worker'), `${maxMemoryBytes}`, sees ? 'pictures' : 'text']
  try {
    const reply = await runProgram({ command: process.execPath, args, input, maxOutputBytes, timeoutMs }, signal)
    return replySchema.parse(JSON.parse(reply.toString()))
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error
    if (error.reason === 'too-slow') return { reason: 'too-large', problem: `takes longer than ${timeoutMs / 1000} s to read` }
    if (error.reason === 'too-large')
      return { reason: 'too-large', problem: 'has too much text, or too many pictures: send a part of it' }
    return { reason: 'damaged', problem: `cannot be read: ${error.message.split('\n').at(-1)?.slice(0, 200) ?? ''}` }
  }
}
