import { LruMap } from '../../../../base/lru-map.ts'
import { isContinued } from '../../../../canonical/parts.ts'
import type { GenerationRequest } from '../../../../contract/request.ts'
import type { AnswerFront } from '../../../front/reasoning-grammar.ts'
import { templateOf } from '../../../shared/template-choice.ts'
import type { Upstream } from '../../servers/upstream.ts'
import type { ThoughtsCome } from './left-thought.ts'

type Found = { readonly front: AnswerFront | undefined }

/**
 * The servers that leave a thought in the text that their template has begun, as vLLM without a reasoning parser does, and where it begins
 * one: that depends on the options of a request, hardly on its texts.
 */
export class LeftThoughts {
  readonly #known = new WeakMap<Upstream, ThoughtsCome>()
  readonly #fronts = new LruMap<string, Found>({ max: 64 })

  /** Keeps the form that a reply has shown. A text may have the mark without a thought, so a field counts more. */
  learn(upstream: Upstream, come: ThoughtsCome): void {
    if (this.#known.get(upstream) !== 'apart') this.#known.set(upstream, come)
  }

  /** Whether the text of a reply may begin inside of a thought. */
  mayBegin({ prompt, output, toolChoice }: GenerationRequest, upstreams: readonly Upstream[]): boolean {
    // The servers constrain from the first token, and no thought comes.
    const isFree = output.type === 'text' && toolChoice.type !== 'required'
    if (prompt.type !== 'chat' || !isFree || isContinued(prompt)) return false
    return upstreams.some((upstream) => this.#known.get(upstream) === 'in-text' && upstream.profile.protocol === 'chat')
  }

  /** How a request's prompt ends, asked once for requests of its kind. */
  async frontOf({ prompt, reasoning, toolChoice }: GenerationRequest, find: () => Promise<AnswerFront | undefined>) {
    if (prompt.type !== 'chat') return undefined
    const { templateVariables, tools, messages } = prompt
    const options = [reasoning, templateVariables, templateOf(prompt), tools.length > 0, toolChoice.type, messages.at(-1)?.role]
    const key = JSON.stringify(options)
    const known = this.#fronts.get(key) ?? { front: await find() }
    this.#fronts.set(key, known)
    return known.front
  }
}
