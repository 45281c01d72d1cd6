import type { EngineEvent, GenerationEvent } from '../event.ts'

type RawText = Extract<EngineEvent, { type: 'raw-text' }>

/** Turns a model's raw text into events. Whatever the split of the text, the joined events are equal. */
export interface OutputParser {
  push(raw: RawText): Iterable<GenerationEvent>
  /** Ends a choice: yields what was held back, and closes what is open. */
  end(choice: number): Iterable<GenerationEvent>
}

/** A parser for models whose output is only text. */
export function createOutputParser(): OutputParser {
  const open = new Set<number>()
  return {
    *push({ choice, text, tokens }) {
      if (!open.has(choice)) {
        open.add(choice)
        yield { type: 'text-start', choice }
      }
      yield { type: 'text-delta', choice, delta: text, ...(tokens !== undefined && { tokens }) }
    },
    *end(choice) {
      if (open.delete(choice)) yield { type: 'text-end', choice }
    },
  }
}
