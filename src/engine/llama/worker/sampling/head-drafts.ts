import { messageOf } from '../../../../contract/errors.ts'
import { Context } from '../../binding/context.ts'
import type { ContextOptions } from '../../binding/context-params.ts'
import type { Sequence } from '../../binding/sequence.ts'
import type { Token } from '../../binding/tokenizer.ts'
import { Turns } from '../../binding/turns.ts'
import type { LoadOptions } from '../../channel/ipc.ts'
import { Rounds } from '../rounds/rounds.ts'
import { DraftGain } from './draft-gain.ts'
import { HeadSequence } from './head-sequence.ts'
import type { Drafter, DraftRequest } from './speculation.ts'

export type HeadSettings = Extract<NonNullable<LoadOptions['speculation']>, { readonly type: 'mtp' }>

type Parts = {
  readonly settings: HeadSettings
  /** The context of the model, and the sequences that are drafted for. */
  readonly target: Context
  readonly sequences: readonly Sequence[]
  readonly context: Omit<ContextOptions, 'sequences'>
  readonly onWarning: (message: string) => void
}

/** Drafts with layers of the model itself that were trained to predict further tokens (multi-token prediction). */
export class HeadDrafts {
  readonly #settings: HeadSettings
  readonly #heads: ReadonlyMap<Sequence, HeadSequence>
  readonly #gain = new DraftGain()

  private constructor({ settings, target, sequences, onWarning }: Parts, context: Context) {
    this.#settings = settings
    let hasWarned = false
    const heads = {
      context,
      hidden: context.showHiddenStates(),
      rounds: new Rounds(),
      layers: context.library.headLayers(context.model.native),
      turns: new Turns(),
      isOn: () => settings.always === true || this.#gain.isOn,
      onError: (error: unknown) => {
        if (!hasWarned) onWarning(`drafting failed, and costs time only: ${messageOf(error)}`)
        hasWarned = true
      },
    }
    target.showHiddenStates()
    this.#heads = new Map(sequences.map((sequence) => [sequence, new HeadSequence(sequence.id, heads)]))
    for (const [sequence, head] of this.#heads) sequence.follower = head
  }

  static async open(parts: Parts): Promise<HeadDrafts> {
    const { target, sequences, context } = parts
    const options = { ...context, adapters: [], contextSize: target.contextSize, sequences: sequences.length, headsOf: target }
    return new HeadDrafts(parts, await Context.create(target.model, options))
  }

  /** Drafts the text of one choice. */
  start(): Drafter {
    let last: Token | undefined
    return {
      kind: 'mtp',
      push: (token) => {
        last = token
        this.#gain.push()
      },
      draft: (request) => (last === undefined || !this.#isOn(request) ? [] : this.#draft(last, request)),
    }
  }

  #isOn({ round }: DraftRequest): boolean {
    // The round is for its prompts.
    if (round.prompts > 0) {
      this.#gain.skip()
      return false
    }
    return this.#settings.always === true || this.#gain.drafts(round)
  }

  async #draft(last: Token, { sequence, room, isOver }: DraftRequest): Promise<readonly Token[]> {
    const { maxTokens, minProbability } = this.#settings
    const drafting = { known: sequence.nextTokenIndex, most: Math.min(room, maxTokens), minProbability, isOver }
    return drafting.most <= 0 ? [] : ((await this.#heads.get(sequence)?.draft(last, drafting)) ?? [])
  }
}
