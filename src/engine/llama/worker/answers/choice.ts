import type { GeneratedToken } from '../../../../contract/event.ts'
import type { DraftKinds } from '../../../../contract/usage.ts'
import { AnswerStops } from '../../../../model-text/parse/answer-stops.ts'
import { checkContextFit } from '../../../shared/context-fit.ts'
import { watchReasoning } from '../../../shared/reasoning-watch.ts'
import { TokenTally } from '../../../shared/token-tally.ts'
import type { Sequence } from '../../binding/sequence.ts'
import { isPlaceholder } from '../../binding/spans.ts'
import type { Token } from '../../binding/tokenizer.ts'
import type { Report, RunCommand } from '../../channel/ipc.ts'
import { machineMs } from '../../channel/machine-clock.ts'
import { choiceSeed } from '../../channel/resolve-sampling.ts'
import type { WorkerModel } from '../model/model.ts'
import { tokenizeSegmentsNow } from '../prompt/prompt.ts'
import type { MediaReading } from '../rounds/prefill.ts'
import type { ConstrainedOutput } from '../sampling/constrained-output.ts'
import { Guide } from '../sampling/guidance.ts'
import { closeAtBudget } from '../sampling/reasoning-budget.ts'
import type { RunControl } from '../sampling/run-control.ts'
import { createBiases, samplerSteps } from '../sampling/sampling.ts'
import { showToken, showTop } from '../sampling/scores.ts'
import { Speculation } from '../sampling/speculation.ts'
import { openTokenSource, type SourcedToken, type Steering, type TokenSource } from '../sampling/token-source.ts'
import type { Vocabulary } from '../sampling/vocabulary.ts'
import type { SlotLease } from '../slots/slot-pool.ts'
import type { Slot } from '../slots/slots.ts'
import { BannedStrings, tokensWith } from './banned-strings.ts'
import { openConstrainedOutput } from './grammars.ts'
import { LoopWatch } from './loop-watch.ts'
import type { Healing } from './token-healing.ts'

export type ChoiceEnd = { readonly reason: 'stop' | 'length' | 'context-full' | 'cancelled'; readonly stopSequence?: string }

/** One choice in progress. It can leave its slot and continue on another one. */
export type Choice = {
  readonly index: number
  /** The prompt and the output so far. */
  readonly tokens: () => readonly Token[]
  /** Reads the tokens that the slot lacks; generates and reports text until the choice has ended or its slot is recalled. */
  decode(lease: SlotLease<Slot>): Promise<ChoiceEnd | 'recalled'>
  readonly outputTokens: number
  readonly reasoningTokens: number
  /** Only with speculation. */
  readonly drafts: DraftKinds | undefined
  close(): void
}

/** A choice's view of its run. `begin` is called when the last token of the prompt is computed. */
type ChoiceRun = {
  readonly index: number
  readonly command: RunCommand
  readonly media: MediaReading | undefined
  /** The output begins with the end of the prompt. */
  readonly healing: Healing | undefined
  readonly control: RunControl
  readonly begin: () => void
  /** Called after each step of the prompt. */
  readonly onRead: (readTokens: number) => void
}

/** Opens one choice of a run. It must be closed. */
export function openChoice(loaded: WorkerModel, run: ChoiceRun, report: (report: Report) => void): Choice {
  const { command, control, index, healing } = run
  const { id, maxOutputTokens, plan, topLogprobs, sampling } = command
  /** The healed token belongs to the prompt. */
  const healed = healing === undefined ? 0 : 1
  const limit = maxOutputTokens === undefined ? loaded.context.contextSize - command.tokens.length : maxOutputTokens + healed
  const output: Token[] = []
  /** The output, whose last tokens may still be taken back. */
  const generated: Token[] = []
  // The bytes of an incomplete character at the end of the output are dropped.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const stops = new AnswerStops(command.stop, plan.format)
  const tally = topLogprobs === undefined ? undefined : new TokenTally<GeneratedToken>()
  const watch = watchReasoning(plan.format)
  const constrained = plan.grammar === undefined ? undefined : openConstrainedOutput(loaded, plan.grammar)
  const allows = (token: Token) => constrained?.allows(token) ?? true
  const inserted = closeAtBudget(loaded.model, { watch, command, allows })
  const speculation = openSpeculation(loaded, command, constrained)
  const { bannedStrings = [], loopWindow = 0, guidance } = sampling
  const bans = bannedStrings.length === 0 ? undefined : new BannedStrings(bannedStrings, loaded.vocabulary)
  const loop = loopWindow > 1 ? new LoopWatch(loopWindow) : undefined
  const stopTokens = new Set(sampling.stopTokens)
  const forbidden = forbiddenBy(bans, healing)
  const source = openSource(loaded, run, { constrained, inserted, speculation, forbidden, limit })
  const guide = openGuide(loaded, run)

  const send = (text: string, tokens: readonly GeneratedToken[] | undefined) => {
    if (text === '' && (tokens === undefined || tokens.length === 0)) return
    report({ type: 'text', id, choice: index, text, madeMs: machineMs(), ...(tokens !== undefined && { tokens }) })
  }
  /** Reports the text of the next token; returns the end if it is the last one. */
  const take = (next: SourcedToken): ChoiceEnd | undefined => {
    output.push(next.token)
    const { vocabulary } = loaded
    const bytes = command.showsSpecialTokens === true ? vocabulary.shownBytesOf(next.token) : vocabulary.bytesOf(next.token)
    const isHealed = healing !== undefined && output.length === 1
    const text = decoder.decode(isHealed ? bytes.subarray(healing.text.length) : bytes, { stream: true })
    watch?.push(text)
    tally?.add(describe(loaded.vocabulary, next), text.length)
    const step = stops.push(text)
    const tokens = tally?.send(step.text.length)
    if (step.stopSequence !== undefined) tokens?.push(...(tally?.cut() ?? []))
    send(step.text, tokens)
    const { stopSequence } = step
    // The template's own end of a turn counts as the model's.
    if (stopSequence !== undefined) return { reason: 'stop', ...(command.stop.includes(stopSequence) && { stopSequence }) }
    if (loop?.push(next.token) === true) return endTurn()
    if (output.length < limit) return undefined
    send(stops.end(), tally?.end())
    return { reason: maxOutputTokens === undefined ? 'context-full' : 'length' }
  }
  const endTurn = (): ChoiceEnd => {
    send(stops.end(), tally?.end())
    return { reason: 'stop' }
  }

  const nextToken = async (sequence: Sequence) => {
    const known = command.tokens.length + generated.length
    // Tokens were taken back, so the last one that stays is computed again for its logits.
    if (bans !== undefined && sequence.nextTokenIndex >= known) await sequence.truncate(known - 1)
    const logits = guide === undefined ? undefined : await guide.read(generated)
    if (logits === 'over') return 'over'
    const unread = unreadOf({ prompt: command.tokens, output: generated }, sequence.nextTokenIndex)
    return source.next(sequence, unread, logits && { logits, scale: guidance?.scale ?? 1 })
  }
  /** Takes tokens that are now certain. */
  const accept = (next: SourcedToken | 'end'): ChoiceEnd | undefined => {
    if (next === 'end' || stopTokens.has(next.token)) return takeAll(bans?.end() ?? []) ?? endTurn()
    generated.push(next.token)
    if (bans === undefined) return take(next)
    const { released, takenBack } = bans.push(next)
    if (takenBack > 0) {
      generated.length -= takenBack
      source.rewind(generated)
    }
    return takeAll(released) ?? (generated.length < limit ? undefined : takeAll(bans.end()))
  }
  const takeAll = (tokens: readonly SourcedToken[]): ChoiceEnd | undefined => {
    for (const token of tokens) {
      const end = take(token)
      if (end !== undefined) return end
    }
    return undefined
  }

  return {
    index,
    tokens: () => [...command.tokens, ...generated] as Token[],
    async decode(lease) {
      const { sequence } = lease.slot
      try {
        for (;;) {
          const next = await nextToken(sequence)
          if (next === 'over') return { reason: 'cancelled' }
          run.begin()
          if (control.cancelled()) return { reason: 'cancelled' }
          const end = accept(next)
          if (end !== undefined) return end
          const paused = control.paused()
          if (paused !== undefined) await Promise.race([paused, lease.whenRecalled])
          if (control.cancelled()) return { reason: 'cancelled' }
          if (lease.isRecalled) return 'recalled'
        }
      } finally {
        guide?.release()
      }
    },
    get outputTokens() {
      return Math.max(0, output.length - healed)
    },
    get reasoningTokens() {
      return watch?.tokens ?? 0
    },
    get drafts() {
      return speculation?.counts
    },
    close: () => source.close(),
  }
}

function forbiddenBy(bans: BannedStrings | undefined, healing: Healing | undefined): SourceParts['forbidden'] {
  if (bans === undefined && healing === undefined) return undefined
  return (position) => {
    const [tried, unhealed] = [bans?.forbidden(position), position === 0 ? healing?.forbidden : undefined]
    return tried === undefined || unhealed === undefined ? (tried ?? unhealed) : new Set([...tried, ...unhealed])
  }
}

/** The tokens after the first `read` of them. */
function unreadOf({ prompt, output }: { prompt: Uint32Array; output: readonly Token[] }, read: number): readonly Token[] {
  const fromOutput = output.slice(Math.max(0, read - prompt.length))
  return read < prompt.length ? [...(prompt.subarray(read) as Iterable<number> as Iterable<Token>), ...fromOutput] : fromOutput
}

/** Inserted, retracted and guided tokens depend on the text before them, which a draft would run ahead of. */
function openSpeculation(
  { openDrafter, certainDrafts }: WorkerModel,
  { tokens, reasoningBudget, sampling }: RunCommand,
  constrained: ConstrainedOutput | undefined,
): Speculation | undefined {
  const { bannedStrings = [], guidance } = sampling
  const isAlone = reasoningBudget !== undefined || bannedStrings.length > 0 || (guidance?.scale ?? 1) !== 1
  if (isAlone) return undefined
  const guess = openDrafter?.(textOf(tokens))
  const drafter = constrained === undefined ? guess : (certainDrafts?.open(constrained, guess) ?? guess)
  return drafter && new Speculation(drafter)
}

function openGuide(loaded: WorkerModel, { command, control }: ChoiceRun): Guide | undefined {
  const { guidance } = command.sampling
  if (guidance === undefined || guidance.scale === 1) return undefined
  const { model, pacer, rounds, guides } = loaded
  const text = tokenizeSegmentsNow(model, [{ text: guidance.negativePrompt, literal: false }])
  // Guidance needs at least one token: for an empty negative prompt, the last one of the prompt, as in the library transformers.
  const prompt = text.length === 0 ? [command.tokens.at(-1) as Token] : (text as Token[])
  checkContextFit({
    inputTokens: prompt.length,
    outputTokens: command.maxOutputTokens,
    contextLength: loaded.context.contextSize,
  })
  return new Guide(guides, { prompt, reading: { pacer, rounds, isOver: control.cancelled } })
}

/** The tokens without those of media, which no vocabulary has. */
function textOf(tokens: Uint32Array): Uint32Array {
  return tokens.some(isPlaceholder) ? tokens.filter((token) => !isPlaceholder(token)) : tokens
}

type SourceParts = Pick<Steering, 'speculation' | 'constrained' | 'inserted' | 'forbidden' | 'limit'>

function openSource(
  { model, vocabulary, context, pacer, rounds }: WorkerModel,
  { command, media, control, index, onRead }: ChoiceRun,
  parts: SourceParts,
): TokenSource {
  const { sampling, tokens, topLogprobs, minOutputTokens } = command
  const { bannedStrings = [] } = sampling
  const { constrained } = parts
  const banned = [
    ...(constrained === undefined ? [] : vocabulary.hiddenTokens),
    ...(bannedStrings.length === 0 ? [] : tokensWith(bannedStrings, vocabulary)),
  ]
  const until = command.ignoreEos ? Number.POSITIVE_INFINITY : (minOutputTokens ?? 0)
  // A completely constrained output may end where the grammar allows nothing else, even below the minimum.
  const asLastResort = constrained !== undefined && command.plan.grammar?.isOpen !== true
  const held = until > 0 ? { tokens: vocabulary.endTokens, until, asLastResort } : undefined
  const seeded = { ...sampling, seed: choiceSeed(sampling.seed, index) }
  const steps = samplerSteps(seeded, { model, prompt: textOf(tokens), contextLength: context.contextSize })
  const reading = { pacer, rounds, media, isOver: control.cancelled, onRead }
  const biases = createBiases(sampling, { size: model.size, banned, held })
  return openTokenSource({ model, reading }, { steps, biases, topLogprobs, ...parts })
}

function describe(vocabulary: Vocabulary, { token, score }: SourcedToken): GeneratedToken {
  return { ...showToken(vocabulary, token), logprob: score?.logprob ?? 0, top: showTop(vocabulary, score) }
}
