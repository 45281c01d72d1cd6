import type { Token } from 'node-llama-cpp'
import { AppError } from '../../core/errors.ts'
import type { GeneratedToken } from '../../core/event.ts'
import { StopStrings } from '../../core/parse/stop-strings.ts'
import { watchReasoning } from '../reasoning-watch.ts'
import { TokenTally } from '../token-tally.ts'
import type { Run } from './decode.ts'
import { showToken, showTop } from './describe-token.ts'
import { createGrammarState, isComplete } from './grammars.ts'
import type { Report } from './ipc.ts'
import type { WorkerModel } from './model.ts'
import { allowsToken } from './native.ts'
import { closeAtBudget } from './reasoning-budget.ts'
import { choiceSeed } from './resolve-sampling.ts'
import { evaluateOptions } from './sampling.ts'
import { plainSource, type SourcedToken, steeredSource, type TokenSource } from './token-source.ts'
import type { Vocabulary } from './vocabulary.ts'

/** How one choice ended, and what it took. */
export type ChoiceEnd = {
  readonly reason: 'stop' | 'length' | 'cancelled'
  readonly stopSequence?: string
  readonly outputTokens: number
  readonly reasoningTokens: number
}

/** One choice of a run, on a slot that holds its prompt. `begin` is called when the prompt's last token is computed. */
export type ChoiceRun = Run & { readonly choice: number; readonly begin: () => void }

/** Generates one choice, and reports its text as it becomes certain. */
export async function decodeChoice(loaded: WorkerModel, run: ChoiceRun, report: (report: Report) => void): Promise<ChoiceEnd> {
  const { command, control, choice } = run
  const { id, maxOutputTokens, shape, topLogprobs } = command
  const output: Token[] = []
  // Bytes of a character that the output ends inside of are not text, and are left out.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const stops = new StopStrings(command.stop)
  const tally = topLogprobs === undefined ? undefined : new TokenTally<GeneratedToken>()
  const watch = watchReasoning(shape.format)
  const grammar = shape.grammar === undefined ? undefined : createGrammarState(loaded, shape.grammar)
  const allows = (token: Token) => grammar === undefined || allowsToken(loaded.model, grammar, token)
  const forced = closeAtBudget(loaded.model, { watch, command, allows })
  const source = openSource(loaded, run, { output, grammar, forced })

  const send = (text: string, tokens: readonly GeneratedToken[] | undefined) => {
    if (text === '' && (tokens === undefined || tokens.length === 0)) return
    report({ type: 'text', id, choice, text, ...(tokens !== undefined && { tokens }) })
  }
  const end = (reason: ChoiceEnd['reason'], stopSequence?: string): ChoiceEnd => ({
    reason,
    ...(stopSequence !== undefined && { stopSequence }),
    outputTokens: output.length,
    reasoningTokens: watch?.tokens ?? 0,
  })

  try {
    for (let previous = command.tokens.at(-1) as Token; ; ) {
      const next = await source.next(previous)
      run.begin()
      if (control.cancelled()) return end('cancelled')
      if (next === undefined) break
      previous = next.token
      output.push(previous)
      const text = decoder.decode(loaded.vocabulary.bytesOf(previous), { stream: true })
      watch?.push(text)
      tally?.add(describe(loaded.vocabulary, next), text.length)
      const step = stops.push(text)
      const tokens = tally?.send(step.text.length)
      if (step.stop !== undefined) tokens?.push(...(tally?.cut() ?? []))
      send(step.text, tokens)
      if (step.stop !== undefined) return end('stop', step.stop)
      if (output.length >= maxOutputTokens) {
        send(stops.end(), tally?.end())
        return end('length')
      }
      const paused = control.whenWanted()
      if (paused === undefined) continue
      await paused
      if (control.cancelled()) return end('cancelled')
    }
    if (grammar !== undefined && !isComplete(loaded, grammar)) {
      const message = "no token of the model's vocabulary could continue the output as its constraint demands"
      throw new AppError('engine-failed', message)
    }
    send(stops.end(), tally?.end())
    return end('stop')
  } finally {
    await source.close()
  }
}

type SourceParts = {
  readonly output: readonly Token[]
  readonly grammar: ReturnType<typeof createGrammarState> | undefined
  readonly forced: (() => Token | undefined) | undefined
}

/** A request that wants nothing special goes the plain way, which is the fast one. */
function openSource(loaded: WorkerModel, run: ChoiceRun, { output, grammar, forced }: SourceParts): TokenSource {
  const { model, vocabulary } = loaded
  const { command, slot, choice } = run
  const { sampling, tokens, topLogprobs } = command
  // What a grammar binds as a whole ends where the grammar has its end.
  const mayGoOn = grammar === undefined || command.shape.grammar?.isOpen === true
  const banned = [
    ...(grammar === undefined ? [] : vocabulary.hiddenTokens),
    ...(command.ignoreEos && mayGoOn ? vocabulary.endTokens : []),
  ]
  const { minOutputTokens } = command
  const held = minOutputTokens !== undefined && mayGoOn ? { tokens: vocabulary.endTokens, until: minOutputTokens } : undefined
  const options = evaluateOptions(
    { ...sampling, seed: choiceSeed(sampling.seed, choice) },
    { model, history: { prompt: tokens, output }, banned, held, contextLength: slot.sequence.contextSize },
  )
  if (topLogprobs === undefined && grammar === undefined && forced === undefined) {
    return plainSource(slot.sequence, tokens.at(-1) as Token, options)
  }
  const steering = { topLogprobs, grammar, forced: forced ?? (() => undefined) }
  return steeredSource(model, slot.sequence, { options, steering })
}

function describe(vocabulary: Vocabulary, { token, score }: SourcedToken): GeneratedToken {
  return { ...showToken(vocabulary, token), logprob: score?.logprob ?? 0, top: showTop(vocabulary, score) }
}
