import { type Answer, chatChunk, doneLine, openStream, usageChunk } from '../support/upstream/upstream.ts'

/** What the upstream streams: these deltas, a finish reason, and its usage. */
export function deltasThen(finishReason: string | null, ...deltas: readonly object[]): Answer {
  return pieces(
    ...deltas.map((delta) => chatChunk({ delta })),
    chatChunk({ delta: {}, finish_reason: finishReason }),
    usageChunk(3, deltas.length),
    doneLine,
  )
}

/** A text of the upstream. */
export const saying = (...texts: readonly string[]) => deltasThen('stop', ...texts.map((content) => ({ content })))

export const fine = saying('ok')

/** Pieces of a stream as they are. */
export function pieces(...parts: readonly string[]): Answer {
  return (_, response) => {
    openStream(response)
    response.end(parts.join(''))
  }
}

/** Fragments of calls. */
export function calling(...fragments: readonly object[]): Answer {
  return deltasThen('tool_calls', ...fragments.map((fragment) => ({ tool_calls: [fragment] })))
}

/** A whole call with an id. */
export const call = (name: string, args: string, index = 0) => ({
  index,
  id: `call_${index}`,
  type: 'function',
  function: { name, arguments: args },
})

/** A reply that is not a stream. */
export function whole(body: object, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
}

/** Bytes, such as those of a sound. */
export function bytes(data: Buffer, contentType: string): Answer {
  return (_, response) => void response.writeHead(200, { 'content-type': contentType }).end(data)
}
