import { LruMap } from '../base/lru-map.ts'
import { type ThinkingSwitch, thinkingSwitches } from '../model-text/template/reasoning-variables.ts'
import { threadModule } from './thread-module.ts'
import { ThreadPool } from './thread-pool.ts'
import type { ThreadReply } from './thread-reply.ts'

/** The limits of a probe end it after a second at most; a busy machine needs longer. */
const defaultTimeoutMs = 10_000
/** The variable that switches a template's thinking, and whether thinking is off without it. */
type TemplateThinking = { readonly thinkingSwitch: ThinkingSwitch | undefined; readonly isOffByDefault: boolean }

const none: TemplateThinking = { thinkingSwitch: undefined, isOffByDefault: false }
/** Replicas mostly share one template, which each probe reads again. */
const remembered = 64

/** Examines chat templates of other servers, in threads: they may be hostile, and rendering them takes up to a second. */
export class TemplateReader {
  readonly #threads: ThreadPool<string, ThreadReply<TemplateThinking>>
  readonly #known = new LruMap<string, Promise<TemplateThinking>>({ max: remembered })

  constructor({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}) {
    this.#threads = new ThreadPool({ module: threadModule('template-thread', import.meta.url), timeoutMs })
  }

  /** Undefined facts for a template that cannot be read. */
  readThinking(template: string): Promise<TemplateThinking> {
    if (!thinkingSwitches.some(({ name }) => template.includes(name))) return Promise.resolve(none)
    return this.#known.find(template, () =>
      this.#threads.request(template).then((reply) => (reply?.type === 'done' ? reply.result : none)),
    )
  }

  async close(): Promise<void> {
    await this.#threads.close()
  }
}
