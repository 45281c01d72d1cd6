import { generatingProtocols, postStream } from './storm.ts'

/** A request and how it ended. */
export type Sent = {
  readonly model: string
  readonly path: string
  readonly status: number | undefined
  readonly isWell: boolean
  /** The end of the reply. */
  readonly text: string
  readonly fromMs: number
  readonly untilMs: number
}

/** What ends a whole reply, in any of these protocols. */
const wholeEnd = /"(finish_reason|stop_reason)":"[a-z_]+"|"status":"(completed|incomplete)"/

/** Sends a request of any protocol, streamed or not, greedy so that it can be repeated, and waits for the end of its reply. */
export async function send(url: string, model: string, random: () => number): Promise<Sent> {
  const protocol = generatingProtocols[Math.floor(random() * generatingProtocols.length)] ?? generatingProtocols[0]
  const isStreamed = random() < 0.6
  const { path } = protocol
  const named = path.startsWith('/v1/inference/') ? { model_id: model } : { model, temperature: 0 }
  const fromMs = performance.now()
  const body = { ...protocol.body('Say something.'), ...named, stream: isStreamed }
  const { text, status, ended } = postStream(`${url}${path}`, body, { authorization: 'Bearer user' })
  await ended
  const isWell = status() === 200 && !text().includes('"error":{') && (isStreamed ? protocol.end : wholeEnd).test(text())
  return { model, path, status: status(), isWell, text: text().slice(-400), fromMs, untilMs: performance.now() }
}
