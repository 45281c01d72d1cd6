import { z } from 'zod'
import type { MediaBytes } from '../../contract/media.ts'
import { type ReadDocument, readDocument, type UnreadDocument } from '../../documents/read-document.ts'
import { readText } from '../../documents/text.ts'
import { argsOfScript } from './own-script.ts'
import { ProgramFailure, runProgram } from './run-program.ts'

const timeoutMs = 60_000
/** A page can unpack to any size, in buffers that V8 does not count. */
const maxMemoryBytes = 768 * 1024 * 1024
/** The longest text, in UTF-8 and as JSON, or pictures. */
const maxOutputBytes = 64 * 1024 * 1024

const problemSchema = z.object({ reason: z.string(), problem: z.string() }) as z.ZodType<UnreadDocument>
const documentSchema = z.union([z.object({ kind: z.string(), text: z.string() }), problemSchema]) as z.ZodType<ReadDocument>
const scanSchema = z.union([z.object({ pictures: z.array(z.string()) }), problemSchema])

/** The pictures of the pages of a scan, as PNG in Base64. */
export type ReadScan = Readonly<z.output<typeof scanSchema>>

/**
 * The text of a document, or why it has none. All but plain text is read in a process of its own, whose time and memory are bounded.
 * Rejects with the signal's reason.
 */
export async function convertDocument({ base64 }: MediaBytes, signal: AbortSignal): Promise<ReadDocument> {
  const input = Buffer.from(base64, 'base64')
  if (readText(input) !== undefined) return readDocument(input)
  return inProcess(documentSchema, { task: 'text', input }, signal)
}

/** The pictures in a document without text. Rejects with the signal's reason. */
export function convertScan({ base64 }: MediaBytes, signal: AbortSignal): Promise<ReadScan> {
  return inProcess(scanSchema, { task: 'scan', input: Buffer.from(base64, 'base64') }, signal)
}

type Task = { readonly task: 'text' | 'scan'; readonly input: Buffer }

async function inProcess<T>(schema: z.ZodType<T>, { task, input }: Task, signal: AbortSignal): Promise<T | UnreadDocument> {
  const args = [...argsOfScript('document-worker'), `${maxMemoryBytes}`, task]
  try {
    const reply = await runProgram({ command: process.execPath, args, input, maxOutputBytes, timeoutMs }, signal)
    return schema.parse(JSON.parse(reply.toString()))
  } catch (error) {
    if (!(error instanceof ProgramFailure)) throw error
    if (error.reason === 'too-slow') return { reason: 'too-large', problem: `takes longer than ${timeoutMs / 1000} s to read` }
    if (error.reason === 'too-large')
      return { reason: 'too-large', problem: 'has too much text, or too many pictures: send a part of it' }
    return { reason: 'damaged', problem: `cannot be read: ${error.message.split('\n').at(-1)?.slice(0, 200) ?? ''}` }
  }
}
