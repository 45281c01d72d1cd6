import { z } from 'zod'
import { count } from './value-types.ts'

const defaultTtlDays = 30
const defaultMaxBytes = 4 * 1024 ** 3

/** Whether a value of `storage.database` is the URL of a PostgreSQL database. */
export function isPostgresUrl(database: string): boolean {
  return /^postgres(ql)?:\/\//.test(database) && URL.canParse(database)
}

/** Anything else is a file. Messages never quote the value: a URL may contain a password. */
const database = z
  .string()
  .min(1)
  .refine((text) => !text.includes('://') || isPostgresUrl(text), {
    error: 'must be `off`, a file, or a URL such as postgres://user:password@host:5432/name',
  })

const ttlDays = z.union([z.number().positive(), z.literal('never')])

const storageObject = z.strictObject({
  database: database
    .exactOptional()
    .describe(
      'A file for SQLite, a postgres:// URL, or `off`: nothing is kept, and requests that need it are refused. Absent: the file ' +
        '`store.db` in the data folder.',
    ),
  ttlDays: ttlDays.default(defaultTtlDays).describe('After how many days a response expires; or `never`.'),
  conversationTtlDays: ttlDays
    .default('never')
    .describe('How many days after its last change a conversation expires; or `never`.'),
  chatCompletions: z
    .enum(['asked', 'all'])
    .default('asked')
    .describe(
      'Which chat completions are kept: `asked`, those with `store: true`; `all`, as llama-stack does, those without `store: false`.',
    ),
  maxBytes: count
    .default(defaultMaxBytes)
    .describe('How much JSON is kept; beyond it, the oldest responses, conversations and ended batches are deleted.'),
})

/** A text is short for an object with only `database`. */
export const storage = z
  .union([database.transform((text) => storageObject.parse({ database: text })), storageObject])
  .prefault({})
  .describe('What is kept of responses and conversations. A text is its `database`.')
