import { type ColumnDefinitionBuilder, type Kysely, SqliteAdapter, sql } from 'kysely'
import type { Migration, MigrationProvider } from 'kysely/migration'
import { decodeObject } from './item-text.ts'

/**
 * All changes of the tables, by name, in the order of their names. A released one stays as it is. They see the tables of their own time, so
 * they are not typed.
 */
const migrations: Readonly<Record<string, Migration>> = {
  '0001-responses-and-conversations': {
    async up(db) {
      await createResponses(db)
      await createConversations(db)
    },
  },
  '0002-key-usage': { up: createKeyUsage },
  '0003-completions': { up: addCompletions },
  '0004-documents-and-files': {
    async up(db) {
      await createDocuments(db)
      await createFiles(db)
    },
  },
  '0005-usage-days': { up: createUsageDays },
  '0006-batches': { up: createBatches },
  '0007-usage-of-batches': { up: addUsageOfBatches },
  '0008-responses-by-id': { up: preferIds },
  '0009-size-of-batches': { up: addSizeOfBatches },
}

export const migrationProvider: MigrationProvider = { getMigrations: async () => migrations }

async function createResponses(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('responses')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('previous_id', 'text')
    .addColumn('conversation_id', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('cancel_requested', 'integer', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('responses_expiry').on('responses').column('expires_at').execute()
  await db.schema.createIndex('responses_age').on('responses').columns(['created_at', 'size_bytes']).execute()
  await db.schema
    .createTable('response_items')
    .addColumn('response_id', 'text', (column) => column.notNull().references('responses.id').onDelete('cascade'))
    .addColumn('is_output', 'integer', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('response_items_key', ['response_id', 'is_output', 'position'])
    .execute()
  await db.schema.createIndex('response_items_id').on('response_items').column('item_id').execute()
  await db.schema
    .createTable('response_events')
    .addColumn('response_id', 'text', (column) => column.notNull().references('responses.id').onDelete('cascade'))
    .addColumn('sequence', 'integer', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('response_events_key', ['response_id', 'sequence'])
    .execute()
}

async function createConversations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('conversations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('changed_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('next_position', 'integer', (column) => column.notNull())
    .addColumn('size_bytes', 'bigint', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('conversations_expiry').on('conversations').column('expires_at').execute()
  await db.schema.createIndex('conversations_age').on('conversations').columns(['changed_at', 'size_bytes']).execute()
  await db.schema
    .createTable('conversation_items')
    .addColumn('conversation_id', 'text', (column) => column.notNull().references('conversations.id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('conversation_items_key', ['conversation_id', 'position'])
    .execute()
  await db.schema.createIndex('conversation_items_id').on('conversation_items').column('item_id').execute()
}

async function createKeyUsage(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('key_usage')
    .addColumn('account', 'text', (column) => column.primaryKey())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('tokens', 'bigint', (column) => column.notNull())
    .addColumn('is_stretched', 'integer', (column) => column.notNull())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute()
}

async function addCompletions(db: Kysely<unknown>): Promise<void> {
  const isResponse = (column: ColumnDefinitionBuilder) => column.notNull().defaultTo('response')
  await db.schema.alterTable('responses').addColumn('kind', 'text', isResponse).execute()
  await db.schema.alterTable('responses').addColumn('model', 'text').execute()
  await db.schema.createIndex('responses_list').on('responses').columns(['owner', 'kind', 'created_at', 'id']).execute()
  await db.schema
    .createTable('response_metadata')
    .addColumn('response_id', 'text', (column) => column.notNull().references('responses.id').onDelete('cascade'))
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute()
  await db.schema.createIndex('response_metadata_id').on('response_metadata').column('response_id').execute()
  await fillFromJson(db.withTables<FilledTables>())
}

type FilledTables = {
  responses: { id: string; json: string; model: string | null }
  response_metadata: { response_id: string; key: string; value: string }
}

const batchRows = 100

/** Lists also find data stored by earlier versions. */
async function fillFromJson(db: Kysely<FilledTables>): Promise<void> {
  for (let last = ''; ; ) {
    const page = db.selectFrom('responses').select(['id', 'json']).where('id', '>', last).orderBy('id').limit(batchRows)
    const rows = (await page.execute()).map(({ id, json }) => ({ id, response: decodeObject(json) }))
    for (const model of new Set(rows.map(({ response }) => response.model))) {
      if (typeof model !== 'string') continue
      const ids = rows.filter(({ response }) => response.model === model).map(({ id }) => id)
      await db.updateTable('responses').set({ model }).where('id', 'in', ids).execute()
    }
    const entries = rows.flatMap(({ id, response: { metadata } }) =>
      Object.entries(metadata ?? {}).map(([key, value]) => ({ response_id: id, key, value: String(value) })),
    )
    if (entries.length > 0) await db.insertInto('response_metadata').values(entries).execute()
    const next = rows.at(-1)
    if (next === undefined) return
    last = next.id
  }
}

async function createDocuments(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('documents')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('version', 'bigint', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
    .execute()
}

async function createFiles(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('files')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('json', 'text')
    .execute()
  await db.schema.createIndex('files_owner').on('files').column('owner').execute()
  await db.schema
    .createTable('file_pieces')
    .addColumn('file_id', 'text', (column) => column.notNull().references('files.id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('bytes', sql`bytea`, (column) => column.notNull())
    .addPrimaryKeyConstraint('file_pieces_key', ['file_id', 'position'])
    .execute()
}

async function createUsageDays(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_days')
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('caller', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .addColumn('input_tokens', 'bigint', (column) => column.notNull())
    .addColumn('cached_tokens', 'bigint', (column) => column.notNull())
    .addColumn('output_tokens', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_days_key', ['day', 'caller', 'model'])
    .execute()
}

async function createBatches(db: Kysely<unknown>): Promise<void> {
  const counters = ['total', 'succeeded', 'errored', 'cancelled', 'expired']
  const tokens = ['input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens']
  const batches = db.schema
    .createTable('batches')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('form', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('json', 'text', (column) => column.notNull())
  await [...counters, ...tokens]
    .reduce((table, name) => table.addColumn(name, 'bigint', (column) => column.notNull().defaultTo(0)), batches)
    .execute()
  await db.schema.createIndex('batches_list').on('batches').columns(['owner', 'form', 'created_at']).execute()
  await db.schema.createIndex('batches_expiry').on('batches').column('expires_at').execute()
  await db.schema
    .createTable('batch_lines')
    .addColumn('batch_id', 'text', (column) => column.notNull().references('batches.id').onDelete('cascade'))
    .addColumn('line', 'integer', (column) => column.notNull())
    .addColumn('custom_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('grouping', 'text', (column) => column.notNull())
    .addColumn('body', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('not_before', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('runner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('ending', 'text')
    .addColumn('status', 'integer')
    .addColumn('request_id', 'text')
    .addColumn('reply', 'text')
    .addPrimaryKeyConstraint('batch_lines_key', ['batch_id', 'line'])
    .execute()
  await sql`create index batch_lines_waiting on batch_lines (batch_id, model, grouping, line) where ending is null and runner is null`.execute(
    db,
  )
  await sql`create index batch_lines_running on batch_lines (runner, batch_id) where runner is not null`.execute(db)
}

/** Servers of earlier versions, which know nothing of these columns, may still write. */
async function addUsageOfBatches(db: Kysely<unknown>): Promise<void> {
  // SQLite adds one column at a time.
  for (const name of ['requests', 'input_tokens', 'cached_tokens', 'output_tokens']) {
    const table = db.schema.alterTable('usage_days')
    await table.addColumn(`batch_${name}`, 'bigint', (column) => column.notNull().defaultTo(0)).execute()
  }
}

/**
 * Without statistics, SQLite takes an owner to have ten responses: it read all of them for each response of a history (3 s for one of 20 among
 * 200,000). PostgreSQL makes its statistics by itself. The format: the rows of the table, then those with equal first columns, first two, ….
 */
async function preferIds(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return
  // Creates the table of statistics, and afterwards reads it.
  const analyze = () => sql`analyze sqlite_schema`.execute(db)
  await analyze()
  await sql`insert into sqlite_stat1 (tbl, idx, stat) values ('responses', 'responses_list', '1000000 1000000 1000000 1 1')`.execute(
    db,
  )
  await analyze()
}

/** Otherwise pruning reads all lines to know it. */
async function addSizeOfBatches(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('batches')
    .addColumn('size_bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute()
  await sql`
    update batches set size_bytes = coalesce(
      (select sum(octet_length(reply)) from batch_lines where batch_id = batches.id), 0
    )`.execute(db)
}
