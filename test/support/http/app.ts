import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import { type App, createApp } from '../../../src/app/create-app.ts'
import { createLog } from '../../../src/app/log/log.ts'
import { separateEntries } from '../../../src/config/entries.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Primary } from '../../../src/contract/server/shared.ts'

export type RunningApp = App & {
  readonly url: string
  readonly home: string
  /** The log so far, one parsed object per line. */
  readonly logLines: () => { level: number; msg?: string }[]
  /** The value of a metric line such as `dragoman_slots_busy{model="m"}`. */
  readonly metric: (line: string) => Promise<number>
}

/** Starts the whole server on a free loopback port with its own home folder, and without a store unless settings have one. Close it. */
export async function startApp(
  settings: z.input<typeof configSchema>,
  { keepsLog = () => true, primary }: { readonly keepsLog?: (line: string) => boolean; readonly primary?: Primary } = {},
): Promise<RunningApp> {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-test-home-'))
  const config = separateEntries(configSchema.parse({ storage: 'off', ...settings, server: { port: 0, ...settings.server } }))
  const lines: string[] = []
  const log = createLog({ level: 'debug', destination: { write: (line: string) => void (keepsLog(line) && lines.push(line)) } })
  const app = await createApp({ ...config, home }, { log, ...(primary !== undefined && { primary }) })
  const url = await app.listen()
  await app.whenReady()
  return {
    ...app,
    url,
    home,
    models: app.models,
    logLines: () => lines.map((line) => JSON.parse(line)),
    metric: async (line) => {
      const text = await (await fetch(`${url}/metrics`)).text()
      const found = text.split('\n').find((candidate) => candidate.startsWith(`${line} `))
      if (found === undefined) throw new Error(`no metric ${line}`)
      return Number(found.slice(line.length + 1))
    },
    close: async () => {
      await app.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Polls until a condition holds; for states without an event. A failure names the condition. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`not true after ${timeoutMs} ms: ${described(holds)}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A condition in the words of its test, without what vitest makes of imported names. */
function described(holds: () => unknown): string {
  return String(holds)
    .replace(/^(async )?\(\) => /, '')
    .replace(/\(0, ?(__vi_import_\d+__\.\w+)\)/g, '$1')
    .replace(/__vi_import_\d+__\./g, '')
}
