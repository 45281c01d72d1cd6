import { randomUUID } from 'node:crypto'
import { type ChatBody, cancelRuns, chat, type ServerAddress } from '../servers/client.ts'
import { watchLoads } from '../servers/load.ts'
import { createAnswerWriter } from '../terminal/answer-writer.ts'
import { ReplySpeed } from './reply-speed.ts'

/** A server, and its operator's address, which reports loads. */
export type AnswerServer = { readonly server: ServerAddress; readonly operator: ServerAddress }

/** How long a server may take to end a cancelled answer before its connection is closed. */
const cancelGraceMs = 2000
/** How long it may be silent before its loads are shown. */
const quietMs = 500

/** One answer that can be stopped. */
export class Answer {
  readonly #server: AnswerServer
  readonly #cancelId = randomUUID()
  readonly #connection = new AbortController()
  #isStopped = false

  constructor(server: AnswerServer) {
    this.#server = server
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Cancels the answer on the server, which then ends it and counts its tokens; a second call closes the connection immediately. */
  stop(): void {
    if (this.#isStopped) {
      this.#connection.abort()
      return
    }
    this.#isStopped = true
    const grace = setTimeout(() => this.#connection.abort(), cancelGraceMs)
    this.#connection.signal.addEventListener('abort', () => clearTimeout(grace), { once: true })
    cancelRuns(this.#server.server, { cancel_id: this.#cancelId }).then(
      (count) => count === 0 && this.#connection.abort(),
      // Other kinds of servers have no such route, but notice that the client has left.
      () => this.#connection.abort(),
    )
  }

  /** Prints the answer while it streams, and resolves with it; after `stop`, with the text so far. */
  async print(body: ChatBody): Promise<string> {
    const writer = createAnswerWriter({ out: process.stdout, err: process.stderr })
    const speed = new ReplySpeed()
    const waiting = new AbortController()
    const shown = showLoads(this.#server.operator, waiting.signal)
    const { signal } = this.#connection
    let text = ''
    let finishReason: string | undefined
    let outputTokens: number | undefined
    try {
      for await (const event of chat(this.#server.server, body, { signal, cancelId: this.#cancelId })) {
        if (!waiting.signal.aborted) {
          waiting.abort()
          await shown
        }
        if (event.type !== 'usage') speed.mark()
        switch (event.type) {
          case 'text':
            text += event.text
            writer.text(event.text)
            break
          case 'reasoning':
            writer.reasoning(event.text)
            break
          case 'finish':
            finishReason = event.reason
            break
          case 'usage':
            outputTokens = event.outputTokens
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      waiting.abort()
      await shown
      writer.end()
      this.#connection.abort()
    }
    const notes = [...(this.#isStopped ? ['stopped'] : []), speed.describe(outputTokens)].filter((note) => note !== undefined)
    if (notes.length > 0) writer.note(`(${notes.join(': ')})`)
    if (finishReason === 'length' && !this.#isStopped) {
      console.error('(truncated: the token limit or the context length was reached)')
    }
    return text
  }
}

/** On a terminal, shows the server's loads while an answer is awaited. */
async function showLoads(operator: ServerAddress, signal: AbortSignal): Promise<void> {
  if (process.stderr.isTTY !== true) return
  await watchLoads(operator, { signal, afterMs: quietMs })
}
