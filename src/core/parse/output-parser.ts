import type { EngineEvent, GenerationEvent } from '../event.ts'

type RawText = Extract<EngineEvent, { type: 'raw-text' }>

/** Turns a model's raw text into events. Whatever the split of the text, the joined events are equal. */
export interface OutputParser {
  push(raw: RawText): readonly GenerationEvent[]
  /** Ends a choice: returns what was held back, and closes what is open. */
  end(choice: number): readonly GenerationEvent[]
}

/** A parser for models whose output is only text. */
export function createOutputParser(): OutputParser {
  const open = new Set<number>()
  return {
    push({ choice, text, tokens }) {
      const delta: GenerationEvent = { type: 'text-delta', choice, delta: text, ...(tokens !== undefined && { tokens }) }
      if (open.has(choice)) return [delta]
      open.add(choice)
      return [{ type: 'text-start', choice }, delta]
    },
    end: (choice) => (open.delete(choice) ? [{ type: 'text-end', choice }] : []),
  }
}
