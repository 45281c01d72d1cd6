import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const client = fileURLToPath(new URL('./sqlite-client.ts', import.meta.url))
const long = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000) select count(*) as count from n'
const path = join(mkdtempSync(join(tmpdir(), 'dragoman-test-')), 'store.db')
const program = `
  import { SqliteClient } from ${JSON.stringify(client)}
  const client = await SqliteClient.open({ path: ${JSON.stringify(path)} })
  const found = client.query({ sql: ${JSON.stringify(long)}, parameters: [] })
  await client.close()
  console.log(JSON.stringify(await found))
`

test('a close waits for a query that runs, and keeps the process until the thread has ended', () => {
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '--eval', program]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '[{"count":2000000}]\n', stderr: '' })
})
