import { block } from './step-length.ts'

/** The tokens of a step, and how many their sequence has before them. */
export type Step = { readonly tokens: number; readonly depth: number }

/**
 * How long the tokens of prompts take. Attention makes a token slower the more stand before it, and llama.cpp computes it differently in
 * steps of at least a block: each of the two has a line over the depth.
 */
export class PromptCost {
  readonly #short = new CostLine()
  readonly #blocks = new CostLine()

  learn({ tokens, depth }: Step, tookMs: number): void {
    const tokenMs = tookMs / tokens
    if (tokens >= block) this.#blocks.learn(depth, tokenMs)
    // In a short step a token takes no less than in a block.
    if (tokens < block || tokenMs > (this.#short.at(depth) ?? 0)) this.#short.learn(depth, tokenMs)
  }

  /** Whether a block was measured. */
  get knowsBlocks(): boolean {
    return this.#blocks.at(0) !== undefined
  }

  /** In ms; rather too long for steps that are longer than those before. `undefined` before the first step. */
  of({ tokens, depth }: Step): number | undefined {
    const short = this.#short.at(depth)
    const blocks = this.#blocks.at(depth)
    if (short === undefined || blocks === undefined) {
      const known = short ?? blocks
      return known === undefined ? undefined : known * tokens
    }
    // A token takes no longer in blocks, so blocks that were slow by chance are tried again. What is known of short steps may be old.
    return tokens * (tokens < block ? Math.max(short, this.#blocks.usual(depth) ?? 0) : Math.min(short, blocks))
  }
}

/** Steps count less the longer ago they were: what a token takes, and how fast the machine is now. */
const memory = { line: 0.9, pace: 0.65 }
/** A line over depths that differ by less than this on average says nothing about others. */
const leastSpread = 100
/** For the line, a measurement is at most so many times what was usual; a point of the line is within these times the mean. */
const bounds = { chance: 3, least: 0.5, most: 3 }

/** The ms of one token by depth: a line through the steps so far (least squares), times the present pace of the machine. */
class CostLine {
  #steps = 0
  #depth = 0
  #depthSquared = 0
  #ms = 0
  #depthMs = 0
  #slope = 0
  #pace = 1

  learn(depth: number, tokenMs: number): void {
    const usual = this.usual(depth)
    const ms = usual === undefined ? tokenMs : Math.min(tokenMs, usual * bounds.chance)
    if (usual !== undefined && usual > 0) this.#pace += (tokenMs / usual - this.#pace) * (1 - memory.pace)
    this.#steps = this.#steps * memory.line + 1
    this.#depth = this.#depth * memory.line + depth
    this.#depthSquared = this.#depthSquared * memory.line + depth * depth
    this.#ms = this.#ms * memory.line + ms
    this.#depthMs = this.#depthMs * memory.line + depth * ms
    const meanDepth = this.#depth / this.#steps
    const variance = this.#depthSquared / this.#steps - meanDepth ** 2
    if (variance < leastSpread ** 2) return
    this.#slope = Math.max(0, (this.#depthMs / this.#steps - (meanDepth * this.#ms) / this.#steps) / variance)
  }

  /** `undefined` before the first step. */
  at(depth: number): number | undefined {
    const usual = this.usual(depth)
    return usual === undefined ? undefined : usual * this.#pace
  }

  /** Without the present pace. */
  usual(depth: number): number | undefined {
    if (this.#steps === 0) return undefined
    const mean = this.#ms / this.#steps
    const onLine = mean + this.#slope * (depth - this.#depth / this.#steps)
    return Math.min(bounds.most * mean, Math.max(bounds.least * mean, onLine))
  }
}
