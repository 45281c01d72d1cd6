import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Store } from '../../src/contract/store.ts'
import { openStore } from '../../src/store/open-store.ts'

/** A database of its own, which ends with the test. */
export async function openTestStore(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-store-'))
  const store = await openStore({ database: { type: 'sqlite', path: join(folder, 'store.db') } })
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return store
}
