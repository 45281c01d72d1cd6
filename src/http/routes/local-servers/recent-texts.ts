import { z } from 'zod'
import { LruMap } from '../../../base/lru-map.ts'
import type { GeneratedToken, GenerationEvent } from '../../../contract/event.ts'
import type { Bus, Topic } from '../../../contract/server/shared.ts'

/** The text of a generation so far, and its tokens if their log-probabilities were asked for. */
export type RecentText = { readonly text: string; readonly tokens: readonly GeneratedToken[] }

const maxGenerations = 32
/** The most tokens of one generation; each has several objects. */
const maxTokens = 4096
const nothing: RecentText = { text: '', tokens: [] }

const token = z.custom<GeneratedToken>((value) => typeof value === 'object' && value !== null)
const topic: Topic<{ readonly key: string }, RecentText> = {
  name: 'recent-texts',
  message: z.object({ key: z.string() }),
  answer: z.object({ text: z.string(), tokens: z.array(token) }),
}

/** The last generations of callers, by the names that they gave them; those of other processes are asked for. */
export class RecentTexts {
  readonly #recent = new LruMap<string, { text: string; tokens: GeneratedToken[] }>({ max: maxGenerations })
  readonly #everyone: Bus | undefined

  constructor(everyone: Bus | undefined) {
    this.#everyone = everyone
    void everyone?.subscribe(topic, ({ key }) => this.#recent.get(key))
  }

  /** Returns what notes the events of a generation; an earlier one of this name is forgotten. */
  watch(owner: string, name: string): (event: GenerationEvent) => void {
    const recent = this.#recent.set(keyOf(owner, name), { text: '', tokens: [] })
    this.#recent.set(keyOf(owner, ''), recent)
    return (event) => {
      if (!('delta' in event) || event.choice !== 0) return
      recent.text += event.delta
      if (event.tokens !== undefined && recent.tokens.length < maxTokens) recent.tokens.push(...event.tokens)
    }
  }

  /** Without a name, the owner's last. Empty for an unknown one. */
  async find(owner: string, name: string): Promise<RecentText> {
    const key = keyOf(owner, name)
    const here = this.#recent.get(key)
    if (here !== undefined) return here
    const elsewhere = (await this.#everyone?.publish(topic, { key })) ?? []
    return elsewhere[0] ?? nothing
  }
}

function keyOf(owner: string, name: string): string {
  return JSON.stringify([owner, name])
}
