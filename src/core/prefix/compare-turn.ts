/** One turn of a conversation, as hashes. */
export type TurnHashes = {
  readonly tools: number
  /** The first message of the user's. */
  readonly question: number
  readonly messages: readonly number[]
}

type Comparison = {
  /** The lines of the session from now on, the latest first. */
  readonly lines: readonly TurnHashes[]
  /** The index of the first message that differs from the turn before, or the tools. */
  readonly diverged?: number | 'tools'
}

/**
 * Finds the line of a session that a turn continues: the one with the same first question that has most in common with it, or else a shorter
 * one that begins alike. (1) A turn that goes on where the line ends takes its place. (2) A turn that the line begins with is a repetition.
 * (3) A turn that differs and is not longer is another line: an edited question, a summary, a subordinate agent. (4) A longer one that
 * differs has diverged.
 */
export function compareTurn(lines: readonly TurnHashes[], turn: TurnHashes): Comparison {
  const line = findLine(lines, turn)
  if (line === undefined) return { lines: [turn, ...lines] }
  const others = lines.filter((other) => other !== line)
  const common = commonLength(line, turn)
  const isShorter = turn.messages.length <= line.messages.length
  if (common < Math.min(line.messages.length, turn.messages.length) && isShorter) return { lines: [turn, ...lines] }
  const diverged = line.tools !== turn.tools ? 'tools' : common < line.messages.length && !isShorter ? common : undefined
  // Not `{ ...line, tools }`, each of which gets a hidden class of its own in Node 20.
  const latest = isShorter ? { tools: turn.tools, question: line.question, messages: line.messages } : turn
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

/** How many messages two turns begin with. */
function commonLength({ messages: first }: TurnHashes, { messages: second }: TurnHashes): number {
  let common = 0
  while (common < first.length && first[common] === second[common]) common += 1
  return common
}
