import type { AppError } from '../../../src/contract/errors.ts'
import type { Tool } from '../../../src/contract/request.ts'
import { ask, engineOver, eventsOf, upstream } from '../upstream/remote-engine.ts'

const tools: readonly Tool[] = ['f', 'g', 'weather'].map((name) => ({ name, parameters: { type: 'object' } }))

/** What a client gets of an upstream's stream, in the order of the stream. */
export type SeenStream = {
  texts: string[]
  reasoning: string
  calls: { id: string; name: string; arguments: string }[]
  finish: string[]
  error?: AppError
}

/** Sends the pieces from a real server, each in a packet of its own, and reads them with the `remote` engine. */
export async function readStream(
  pieces: readonly Uint8Array[],
  options: { readonly choices?: number; readonly contentType?: string } = {},
): Promise<SeenStream> {
  const server = await upstream(async (_, response) => {
    response.writeHead(200, { 'content-type': options.contentType ?? 'text/event-stream' })
    for (const piece of pieces) {
      response.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    response.end()
  })
  const seen: SeenStream = { texts: [], reasoning: '', calls: [], finish: [] }
  const request = ask('hi', { choices: options.choices ?? 1 }, tools)
  try {
    for await (const event of eventsOf(engineOver([server]), request)) {
      if (event.type === 'text-delta') seen.texts[event.choice] = (seen.texts[event.choice] ?? '') + event.delta
      else if (event.type === 'reasoning-delta') seen.reasoning += event.delta
      else if (event.type === 'tool-call-start') seen.calls.push({ id: event.id, name: event.name, arguments: '' })
      else if (event.type === 'tool-call-delta') {
        const call = seen.calls.findLast(({ id }) => id === event.id)
        if (call !== undefined) call.arguments += event.delta
      } else if (event.type === 'finish') seen.finish[event.choice] = event.reason
      else if (event.type === 'error') seen.error = event.error
    }
  } catch (error) {
    seen.error = error as AppError
  }
  return seen
}

/** The bytes in pieces of `size`. */
export function piecesOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += size) pieces.push(bytes.subarray(at, at + size))
  return pieces
}
