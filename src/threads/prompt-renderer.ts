import type { RenderRequest } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { OutputFormat } from '../contract/output-format.ts'
import type { TemplateTokens } from '../model-text/template/chat-template.ts'
import { threadModule } from './thread-module.ts'
import { ThreadPool } from './thread-pool.ts'
import { resultOf, type ThreadReply } from './thread-reply.ts'

type PromptTemplate = TemplateTokens & {
  readonly source: string
  /** The name of the format of calls; absent: the template's. */
  readonly toolFormat?: string | undefined
  /** The tags around reasoning; absent: the template's. */
  readonly reasoning?: OutputFormat['reasoning'] | undefined
  /** Texts of special tokens, which only the template may write. */
  readonly specialTexts: readonly string[]
}

export type PromptRequest = RenderRequest & { readonly template: PromptTemplate }

/** A thread's task for a conversation. */
export type PromptTask = PromptRequest & { readonly task: 'render' | 'heal' }

/** The text of a prompt, and whether it ends inside a reasoning block. */
export type WrittenPrompt = { readonly text: string; readonly startsInReasoning: boolean }

/** The limits of a template end it after some seconds; a busy machine needs longer. */
const defaultTimeoutMs = 10_000

/** Renders conversations in threads: a template, or a caller's long conversation, may be slow. */
export class PromptRenderer {
  readonly #threads: ThreadPool<PromptTask, ThreadReply<WrittenPrompt | PromptRequest['prompt']>>

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#threads = new ThreadPool({ module: threadModule('prompt-thread', import.meta.url), timeoutMs })
  }

  /** Rejects with `template-failed` for a conversation that the template refuses, or that takes too long. */
  render(request: PromptRequest, signal: AbortSignal): Promise<WrittenPrompt> {
    return this.#do<WrittenPrompt>({ ...request, task: 'render' }, signal)
  }

  /** The conversation in the form that the template renders (`ChatTemplate.heal`). Rejects as `render` does. */
  heal(request: PromptRequest, signal: AbortSignal): Promise<PromptRequest['prompt']> {
    return this.#do<PromptRequest['prompt']>({ ...request, task: 'heal' }, signal)
  }

  async #do<T>(task: PromptTask, signal: AbortSignal): Promise<T> {
    const reply = await this.#threads.request(task, signal)
    signal.throwIfAborted()
    if (reply !== undefined) return resultOf(reply) as T
    throw new AppError('template-failed', "the model's chat template takes too long to render this conversation; shorten it", {
      at: ['prompt', 'messages'],
    })
  }

  async close(): Promise<void> {
    await this.#threads.close()
  }
}
