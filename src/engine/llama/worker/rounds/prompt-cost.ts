import { block } from './step-length.ts'

/** The tokens of a step, and how many their sequence has before them. */
export type Step = { readonly tokens: number; readonly depth: number }

/** The time of a step, and of each further token in it. */
type StepTimes = { readonly stepMs: number; readonly furtherMs: number }

/**
 * Predicts how long the tokens of prompts take. Attention makes a token slower the deeper it is, and llama.cpp computes differently in
 * steps of at least a block: each kind has a line over the depth. Reading the weights costs a step the same at any length: short steps also
 * have a line over their length.
 */
export class PromptCost {
  readonly #short = new CostLine(leastSpread.depths)
  readonly #blocks = new CostLine(leastSpread.depths)
  readonly #lengths = new CostLine(leastSpread.lengths)

  /** `isExact`: the time contains nothing else. */
  learn({ tokens, depth }: Step, tookMs: number, isExact: boolean): void {
    const tokenMs = tookMs / tokens
    if (isExact && tokens < block && depth < shallow) this.#lengths.learn(tokens, tookMs)
    if (tokens >= block) this.#blocks.learn(depth, tokenMs)
    // In a short step a token takes no less than in a block.
    if (tokens < block || tokenMs > (this.#short.at(depth) ?? 0)) this.#short.learn(depth, tokenMs)
  }

  /** Whether a block was measured. */
  get knowsBlocks(): boolean {
    return this.#blocks.at(0) !== undefined
  }

  /** The time of a short step, and of each token more; `undefined` until steps of different lengths were measured. */
  timesOf({ tokens, depth }: Step): StepTimes | undefined {
    const stepMs = this.#lengths.at(tokens)
    const furtherMs = this.#lengths.slope
    if (stepMs === undefined || furtherMs === undefined) return undefined
    const attentionMs = (this.#short.at(depth) ?? 0) - (this.#short.at(0) ?? 0)
    return { stepMs: stepMs + tokens * attentionMs, furtherMs: furtherMs + attentionMs }
  }

  /** In ms; too long rather than too short for steps longer than those measured. `undefined` before the first step. */
  of({ tokens, depth }: Step): number | undefined {
    const short = this.#short.at(depth)
    const blocks = this.#blocks.at(depth)
    if (short === undefined || blocks === undefined) {
      const known = short ?? blocks
      return known === undefined ? undefined : known * tokens
    }
    // A token is never slower in blocks, so blocks that were slow by chance are tried again. The line of short steps may be outdated.
    return tokens * (tokens < block ? Math.max(short, this.#blocks.usual(depth) ?? 0) : Math.min(short, blocks))
  }
}

/** The decay of older steps: for the line, and for the present pace of the machine. */
const memory = { line: 0.9, pace: 0.65 }
/** Values closer together than this on average give no slope. */
const leastSpread = { depths: 100, lengths: 2 }
/** Up to this depth, attention adds next to nothing to a step. */
const shallow = 256
/**
 * A measurement enters the line as at most `chance` times the usual value; points of the line are within `least` and `most` times the mean.
 */
const bounds = { chance: 3, least: 0.5, most: 3 }

/**
 * The ms of a token by depth, or of a step by length: a line through the steps so far (least squares), times the present pace of the
 * machine.
 */
class CostLine {
  readonly #leastSpread: number
  #steps = 0
  #x = 0
  #xSquared = 0
  #ms = 0
  #xMs = 0
  #slope: number | undefined
  #pace = 1

  constructor(leastSpread: number) {
    this.#leastSpread = leastSpread
  }

  learn(x: number, tookMs: number): void {
    const usual = this.usual(x)
    const ms = usual === undefined ? tookMs : Math.min(tookMs, usual * bounds.chance)
    if (usual !== undefined && usual > 0) this.#pace += (tookMs / usual - this.#pace) * (1 - memory.pace)
    this.#steps = this.#steps * memory.line + 1
    this.#x = this.#x * memory.line + x
    this.#xSquared = this.#xSquared * memory.line + x * x
    this.#ms = this.#ms * memory.line + ms
    this.#xMs = this.#xMs * memory.line + x * ms
    const mean = this.#x / this.#steps
    const variance = this.#xSquared / this.#steps - mean ** 2
    if (variance < this.#leastSpread ** 2) return
    this.#slope = Math.max(0, (this.#xMs / this.#steps - (mean * this.#ms) / this.#steps) / variance)
  }

  /** `undefined` until the values differ enough. */
  get slope(): number | undefined {
    return this.#slope === undefined ? undefined : this.#slope * this.#pace
  }

  /** `undefined` before the first step. */
  at(x: number): number | undefined {
    const usual = this.usual(x)
    return usual === undefined ? undefined : usual * this.#pace
  }

  /** Without the present pace. */
  usual(x: number): number | undefined {
    if (this.#steps === 0) return undefined
    const mean = this.#ms / this.#steps
    const onLine = mean + (this.#slope ?? 0) * (x - this.#x / this.#steps)
    return Math.min(bounds.most * mean, Math.max(bounds.least * mean, onLine))
  }
}
