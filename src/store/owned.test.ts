import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/**
 * What sees the rows of all owners: what opens, migrates and prunes the database, `Owned` itself, what it hands out, the counters of
 * keys and the documents of operators, which have no owners, the files, whose every query names one, and batches, which processes run for all
 * owners.
 */
const withoutOwner = [
  'batch-store.ts',
  'conversation-rows.ts',
  'migrations.ts',
  'open-store.ts',
  'owned.ts',
  'postgres-carrier.ts',
  'postgres-files.ts',
  'prune.ts',
  'response-rows.ts',
  'running-responses.ts',
  'usage-counter.ts',
  'usage-days.ts',
]

test('what answers callers reaches rows by their owner only: it has no database', () => {
  const files = readdirSync(new URL('.', import.meta.url)).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  const seeing = files.filter((file) =>
    /\bKysely\b/.test(readFileSync(new URL(file, import.meta.url), 'utf8').replace(/\/\/.*|\*.*/g, '')),
  )
  expect(seeing).toEqual(withoutOwner)
})
