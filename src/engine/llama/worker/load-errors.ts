import { LlamaLogLevel } from 'node-llama-cpp'
import { messageOf } from '../../../contract/errors.ts'
import { unknownModelHint } from '../channel/unknown-model.ts'

/** llama.cpp's own summary, which the thrown error repeats. */
const summary = /^failed to (?:load model|initialize the context|create context)\b/i

/** What llama.cpp logs as errors while it loads a model: its exceptions say only that it failed. */
export class LoadErrors {
  readonly #reasons = new Set<string>()

  note(level: LlamaLogLevel, message: string): void {
    if (level !== LlamaLogLevel.error && level !== LlamaLogLevel.fatal) return
    // The name of its function, and what each reason begins with.
    const reason = message
      .replace(/^[\w:~]+: /, '')
      .replace(/^error loading model: /, '')
      .trim()
    if (reason !== '' && !summary.test(reason)) this.#reasons.add(reason)
  }

  /** Adds the last logged reason to an error that lacks it. */
  explain(error: unknown): string {
    const message = messageOf(error)
    const reason = [...this.#reasons].at(-1)
    if (reason === undefined || message.includes(reason)) return message
    return `${message}: ${reason}${unknownModelHint(reason)}`
  }
}
