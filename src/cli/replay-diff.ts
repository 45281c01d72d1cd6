import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { printable } from '../app/log/printable.ts'
import { rootOf } from '../base/text/server-url.ts'
import { changeKinds } from '../check/compare.ts'
import { coarseNats, type Drift } from '../check/drift.ts'
import { type Answered, tryJudge } from '../check/judge.ts'
import { answerTo, diffTurn, isComparable, type Sides, type TurnDiff } from '../check/replay-diff.ts'
import { inOrder, type RecordedTurn, recordedTurn } from '../check/script.ts'
import type { Side, Turn } from '../check/turn.ts'
import { AppError } from '../contract/errors.ts'
import { readCaptured } from './replay.ts'
import { listModels, type ServerAddress } from './servers/client.ts'
import { ownKey } from './servers/own-key.ts'
import { requireFolderOf } from './terminal/require-folder.ts'

/** A model of the server, or the URL of another server and its key. */
type Named = { readonly name: string; readonly key?: string | undefined }

/** The most turns of a thousand that may change without a failure: what chance does to the same model. */
const mostChanged = 10
const silentTurns = 3
/** Turns whose next tokens are compared: that many show coarse weights. */
const driftTurns = 50
/** Turns with which a judge is tried. */
const trialTurns = 10

/**
 * Sends captured conversations to the server and to another model or server, and prints where the answers differ in more than words.
 * Returns the exit code: 1 if more than one of a hundred does, if the judge cannot tell, or if the model expects other next tokens and no judge
 * has read its words.
 */
export async function replayDiff(
  server: ServerAddress,
  paths: readonly string[],
  { against, judge }: { readonly against: Named; readonly judge?: Named | undefined },
): Promise<number> {
  const sides: Sides = {
    before: { address: server },
    after: sideOf(against, server),
    judge: judge === undefined ? undefined : await namedSide(sideOf(judge, server)),
  }
  const diffs: TurnDiff[] = []
  const answered: Answered[] = []
  for await (const { file, turn } of turnsIn(paths)) {
    const tellsDrift = diffs.filter(({ drift }) => drift !== undefined).length < driftTurns
    const diff = await diffTurn(turn, { ...sides, tellsDrift })
    diffs.push(diff)
    if (answered.length < trialTurns && diff.before.failure === undefined) answered.push({ turn, answer: diff.before })
    for (const { kind, why } of diff.changes) console.log(printable(`${file}: ${kind}: ${why}`))
    refuseSilent(diffs, against.name)
  }
  const compared = diffs.filter(({ before: { failure } }) => failure === undefined)
  if (compared.length === 0)
    throw new AppError(
      'invalid-request',
      `none of the ${diffs.length} captured conversations is answered by ${server.url}: there is nothing to compare`,
    )
  console.log(summaryOf(compared, diffs.length - compared.length))
  const wasJudged = compared.some(({ judged }) => judged !== undefined)
  const trial = wasJudged && sides.judge !== undefined ? await tryJudge(answered, sides.judge) : { found: 0, of: 0 }
  if (trial.of > 0)
    console.log(
      `the judge finds ${trial.found} of ${trial.of} answers to other questions worse${canTell(trial) ? '' : ': it cannot tell'}`,
    )
  if (!canTell(trial)) return 1
  const changed = compared.filter(({ changes }) => changes.length > 0).length
  const isCoarse = judge === undefined && meanDrift(compared) >= coarseNats
  return changed * 1000 > mostChanged * compared.length || isCoarse ? 1 : 0
}

/** Less than most may be chance. */
const canTell = ({ found, of }: { readonly found: number; readonly of: number }) => found * 4 >= of * 3

/** Throws if all of the first turns fail for one reason there: nothing is known of a model that does not answer. */
function refuseSilent(diffs: readonly TurnDiff[], name: string): void {
  const [failure, ...others] = new Set(diffs.map(({ before, after }) => (before.failure === undefined ? after.failure : '')))
  if (diffs.length === silentTurns && others.length === 0 && failure)
    throw new AppError('engine-failed', `${name} answers none of the first ${silentTurns} turns: ${printable(failure)}`)
}

/** The mean for each token; `NaN`: none was compared. */
function meanDrift(diffs: readonly TurnDiff[]): number {
  const drifts = diffs.flatMap(({ drift }) => drift ?? [])
  const sum = (read: (drift: Drift) => number) => drifts.reduce((total, drift) => total + read(drift), 0)
  return sum(({ nats }) => nats) / sum(({ tokens }) => tokens)
}

function driftText(nats: number): string {
  const meaning =
    nats < 0.001
      ? 'the same weights'
      : nats < coarseNats
        ? 'other weights, of a fine quantization'
        : 'coarse weights, or another model'
  return `next tokens differ by ${nats.toFixed(3)} nats: ${meaning}`
}

/** Another model of the server, or another server by its URL, which gets its own key only. */
function sideOf({ name, key }: Named, server: ServerAddress): Side {
  if (!/^https?:/.test(name)) return { address: server, model: name }
  return { address: { url: rootOf(name), apiKey: key ?? ownKey(name, server) } }
}

/** A judge is asked for itself, so a server needs the name of its model: the first that it lists. */
async function namedSide({ address, model: named }: Side): Promise<Side> {
  const model = named ?? (await listModels(address))[0]?.id
  return { address, ...(model !== undefined && { model }) }
}

/**
 * Writes a script for `startScripted`, whose model answers the captured conversations as the server does now. Returns the exit code: 1 if
 * the server does not answer any.
 */
export async function writeScript(server: ServerAddress, paths: readonly string[], output: string): Promise<number> {
  await requireFolderOf(output)
  const turns: RecordedTurn[] = []
  for await (const { turn } of turnsIn(paths)) {
    const recorded = recordedTurn(turn.body, await answerTo(turn, { address: server }))
    if (recorded !== undefined) turns.push(recorded)
  }
  await writeFile(output, `${JSON.stringify(inOrder(turns), null, 2)}\n`)
  console.error(`${turns.length} turns are in ${output}`)
  return turns.length === 0 ? 1 : 0
}

/** The captured conversations in files and folders. */
async function* turnsIn(paths: readonly string[]): AsyncGenerator<{ readonly file: string; readonly turn: Turn }, void, void> {
  for (const file of await filesOf(paths)) {
    const { path, body, isReplay } = await readCaptured(file)
    if (!isReplay && isComparable(path, body)) yield { file, turn: { path, body } }
  }
}

async function filesOf(paths: readonly string[]): Promise<readonly string[]> {
  const lists = paths.map(async (path) => {
    if ((await stat(path).catch(() => undefined))?.isDirectory() !== true) return [path]
    const names = (await readdir(path)).filter((name) => name.endsWith('.json')).sort()
    return names.map((name) => join(path, name))
  })
  return (await Promise.all(lists)).flat()
}

function summaryOf(diffs: readonly TurnDiff[], failed: number): string {
  const count = (kind: string) => diffs.filter(({ changes }) => changes.some((change) => change.kind === kind)).length
  const kinds = changeKinds.filter((kind) => count(kind) > 0).map((kind) => `${kind} ${count(kind)}`)
  const sum = (read: (diff: TurnDiff) => number) => diffs.reduce((total, diff) => total + read(diff), 0)
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const changed = diffs.filter(({ changes }) => changes.length > 0).length
  const judged = (verdict: string) => diffs.filter((diff) => diff.judged === verdict).length
  const verdicts = (['better', 'alike', 'worse', 'none'] as const).filter((verdict) => judged(verdict) > 0)
  return [
    `${changed} of ${diffs.length} turns changed${kinds.length > 0 ? ` (${kinds.join(', ')})` : ''}`,
    ...(verdicts.length > 0
      ? [`other words, judged: ${verdicts.map((verdict) => `${verdict} ${judged(verdict)}`).join(', ')}`]
      : []),
    ...(Number.isNaN(meanDrift(diffs)) ? [] : [driftText(meanDrift(diffs))]),
    ...(failed > 0 ? [`${failed} not compared: the server did not answer them`] : []),
    `tokens: ${sum(({ before }) => before.outputTokens)}, then ${sum(({ after }) => after.outputTokens)}`,
    `time: ${seconds(sum(({ before }) => before.ms))}, then ${seconds(sum(({ after }) => after.ms))}`,
  ].join('; ')
}
