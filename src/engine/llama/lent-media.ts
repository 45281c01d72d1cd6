import { mediaIn } from '../../canonical/parts.ts'
import { bytesOf, type MediaBytes } from '../../contract/media.ts'
import type { ContentPart, Message, OutputPart, Prompt } from '../../contract/request.ts'

/** The bytes of media in requests that run. Commands name media by their hashes; the worker asks for those that it has not read yet. */
export class LentMedia {
  readonly #lent = new Map<string, { readonly base64: string; requests: number }>()

  /** Lends the media of a prompt while the work runs. */
  async during<T>(prompt: Prompt, work: () => Promise<T>): Promise<T> {
    const takeBack = this.lend(prompt)
    try {
      return await work()
    } finally {
      takeBack()
    }
  }

  lend(prompt: Prompt): () => void {
    const hashes = prompt.type === 'chat' ? mediaIn(prompt).map((part) => this.#add(bytesOf(part))) : []
    return () => {
      for (const sha256 of hashes) this.#remove(sha256)
    }
  }

  /** As base64; undefined: no request has it any more. */
  get(sha256: string): string | undefined {
    return this.#lent.get(sha256)?.base64
  }

  #add({ sha256, base64 }: MediaBytes): string {
    const lent = this.#lent.get(sha256)
    if (lent === undefined) this.#lent.set(sha256, { base64, requests: 1 })
    else lent.requests += 1
    return sha256
  }

  #remove(sha256: string): void {
    const lent = this.#lent.get(sha256)
    if (lent === undefined) return
    lent.requests -= 1
    if (lent.requests === 0) this.#lent.delete(sha256)
  }
}

/** A prompt whose media have their hashes only. */
export function withoutBytes(prompt: Prompt): Prompt {
  if (prompt.type !== 'chat' || mediaIn(prompt).length === 0) return prompt
  const emptied = <P extends ContentPart | OutputPart>(parts: readonly P[]): P[] =>
    parts.map((part) => {
      if (part.type === 'tool-result') return { ...part, content: emptied(part.content) }
      return part.type === 'media' ? { ...part, source: { ...bytesOf(part), base64: '' } } : part
    })
  const messages = prompt.messages.map(
    (message): Message =>
      message.role === 'assistant'
        ? { ...message, parts: emptied(message.parts) }
        : { ...message, content: emptied(message.content) },
  )
  return { ...prompt, messages }
}
