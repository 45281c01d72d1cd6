import { parentPort } from 'node:worker_threads'
import { createSchemaJudge, type SchemaJudge, type Verdict } from './schema-judge.ts'

/** Asks for a verdict on `text`; without one, only whether the schema can be judged by. */
export type Question = { readonly schema: string; readonly text?: string }
export type Answer = { readonly canJudge: false } | { readonly canJudge: true; readonly verdict: Verdict }

/** A thread of its own, because a pattern may keep it busy until it is ended. */

const keptJudges = 256
const judges = new Map<string, SchemaJudge | undefined>()

parentPort?.on('message', ({ schema, text }: Question) => {
  const judge = judges.has(schema) ? judges.get(schema) : createSchemaJudge(schema)
  // The least recently used one is the first in the map's order.
  judges.delete(schema)
  judges.set(schema, judge)
  if (judges.size > keptJudges) for (const oldest of [...judges.keys()].slice(0, 1)) judges.delete(oldest)
  parentPort?.postMessage(
    judge === undefined ? { canJudge: false } : { canJudge: true, verdict: text === undefined ? undefined : judge(text) },
  )
})
parentPort?.postMessage('ready')
