/** One turn of a conversation, as hashes. */
export type TurnHashes = {
  readonly tools: number
  /** The user's first message. */
  readonly question: number
  readonly messages: readonly number[]
}

type Comparison = {
  /** The new lines of the session, the latest first. */
  readonly lines: readonly TurnHashes[]
  /** The first difference from the turn before: the index of a message, or the tools. */
  readonly diverged?: number | 'tools'
}

/**
 * Finds the line of a session that a turn continues: among lines with the same first question, the one that has most in common with it, or
 * else a shorter one with the same beginning. (1) A turn that extends a line replaces it. (2) A turn that is the beginning of a line is a
 * repetition. (3) A different turn that is not longer is another line: an edited question, a summary, a subordinate agent. (4) A different
 * longer one has diverged.
 */
export function compareTurn(lines: readonly TurnHashes[], turn: TurnHashes): Comparison {
  const line = findLine(lines, turn)
  if (line === undefined) return { lines: [turn, ...lines] }
  const others = lines.filter((other) => other !== line)
  const common = commonLength(line, turn)
  const isShorter = turn.messages.length <= line.messages.length
  if (common < Math.min(line.messages.length, turn.messages.length) && isShorter) return { lines: [turn, ...lines] }
  const diverged = line.tools !== turn.tools ? 'tools' : common < line.messages.length && !isShorter ? common : undefined
  const latest = isShorter ? { ...line, tools: turn.tools } : turn
  return { lines: [latest, ...others], ...(diverged !== undefined && { diverged }) }
}

function findLine(lines: readonly TurnHashes[], turn: TurnHashes): TurnHashes | undefined {
  const isAlike = (line: TurnHashes) =>
    line.question === turn.question || (commonLength(line, turn) > 0 && line.messages.length < turn.messages.length)
  let best: TurnHashes | undefined
  for (const line of lines) {
    if (!isAlike(line)) continue
    if (best === undefined || commonLength(line, turn) > commonLength(best, turn)) best = line
  }
  return best
}

/** The number of messages that two turns begin with. */
function commonLength({ messages: first }: TurnHashes, { messages: second }: TurnHashes): number {
  let common = 0
  while (common < first.length && first[common] === second[common]) common += 1
  return common
}
