import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { wavOf } from '../../../web/src/places/chat/voice/wav.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { refill } from '../../support/page/refill.ts'
import { startHub } from '../../support/upstream/hub.ts'

type ListedModel = { readonly id: string; readonly slots: number; readonly state: string }
const modelsOf = async ({ url }: RunningApp) =>
  ((await (await fetch(`${url}/api/server`)).json()) as { readonly models: readonly ListedModel[] }).models

describe.skipIf(browserPath === undefined)(`adding a model in the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  let hub: Awaited<ReturnType<typeof startHub>>
  const { HF_ENDPOINT: before } = process.env
  beforeAll(async () => {
    hub = await startHub()
    process.env.HF_ENDPOINT = hub.origin
    ;[app, browser] = await Promise.all([
      startApp({ models: [{ engine: 'llama', id: 'own', source: builtinModel.path }] }),
      openBrowser(),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
    await hub?.close()
    if (before === undefined) delete process.env.HF_ENDPOINT
    else process.env.HF_ENDPOINT = before
  })

  const open = async () => {
    const opened = await openServerPage(browser, `${app.url}/#/models`, {})
    await opened.page.getByRole('button', { name: 'Add a model' }).click()
    return { ...opened, dialog: opened.page.getByRole('dialog', { name: 'Add a model' }) }
  }

  test('the catalogue has size, fit and abilities, and one click fetches a model', async () => {
    const { page, dialog, close } = await open()
    const row = dialog.getByRole('listitem').filter({ hasText: 'qwen3:1.7b' })
    await row.getByText(/Qwen3 1\.7B · 1\.3 GB · trained for 40,960 tokens · .* · thinks · calls tools/).waitFor()
    await dialog.getByText(/Llama 3\.3 70B · 42\.5 GB/).waitFor()
    expect(await findBarriers(page)).toEqual([])
    // What it takes is known before it is fetched.
    await row.getByRole('button', { name: 'Check qwen3:1.7b' }).click()
    await row.getByText(/^\d.* to fetch · a context of [\d,]+ tokens$/).waitFor()
    await row.getByText(/^needs about /).waitFor()
    await dialog.getByLabel('Name or source').fill('hf.co/owner/some-GGUF:Q8_0')
    await dialog.getByText(/^needs about /).waitFor()
    expect(hub.seen.filter(({ url, headers }) => url.includes('/resolve/') && headers.range === undefined)).toEqual([])
    await dialog.getByLabel('Name or source').fill('qwen3 1.7')
    await expect.poll(() => dialog.getByRole('listitem').filter({ hasText: 'Qwen3' }).count()).toBe(1)
    await dialog.getByRole('button', { name: 'Fetch qwen3:1.7b' }).click()
    await page.getByRole('cell', { name: /qwen3:1\.7b/ }).waitFor()
    expect(hub.seen.some(({ url }) => url.includes('bartowski/Qwen_Qwen3-1.7B-GGUF'))).toBe(true)
    // Its download would end with the page.
    await expect.poll(async () => (await modelsOf(app)).map(({ state }) => state)).toEqual(['ready', 'ready'])
    await close()
  })

  test('from a file that no model reads, a link leads to adding one', async () => {
    const { page, problems, close } = await openServerPage(browser, app.url)
    await page.getByRole('combobox', { name: 'Model' }).waitFor()
    const buffer = Buffer.from(wavOf(new Float32Array(8000), 8000))
    await page.getByLabel('Attach').setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer })
    await page.getByText(/ does not read sounds/).waitFor()
    await page.getByRole('link', { name: 'Add a model that does' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a model' })
    await dialog.getByRole('button', { name: 'Close' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(page.url()).toBe(`${app.url}/#/models`)
    // What was attached waits there.
    await page.getByRole('link', { name: 'Chat' }).click()
    await page.getByRole('button', { name: 'Remove a.wav' }).waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test('the memory of a load is shown while its settings are typed, and the file is deleted after a word', async () => {
    const { page, problems, close } = await openServerPage(browser, `${app.url}/#/models`, { width: 360, height: 700 })
    await page.getByRole('cell', { name: /qwen3:1\.7b/ }).click()
    const file = page.getByRole('region', { name: 'The file of the model' })
    const [path = ''] = (await readdir(join(app.home, 'models'), { recursive: true })).filter((name) => name.endsWith('.gguf'))
    await file.getByText(join(app.home, 'models', path)).waitFor()
    await file.getByText('hf:bartowski/Qwen_Qwen3-1.7B-GGUF').waitFor()
    const type = (label: string, digits: string) => refill(file.getByLabel(label), digits)
    const need = () => file.getByText(/^needs about /).textContent()
    const before = await need()
    await type('Slots', '3')
    await expect.poll(need).not.toBe(before)
    await type('Layers on the GPU', '1')
    await file.getByText(/about .* of it on the GPU · trained for .* tokens · layers: \d+$/).waitFor()
    await type('Slots', '9000000')
    await file.getByText(/^What fits: .* tokens with slots: /).waitFor()
    await type('Slots', '3')
    await type('Layers on the GPU', '')
    await file.getByText(/^What fits/).waitFor({ state: 'detached' })
    await file.getByRole('button', { name: 'Load with these' }).click()
    await expect.poll(async () => (await modelsOf(app)).map(({ slots, state }) => [slots, state])).toContainEqual([3, 'ready'])

    await file.getByRole('button', { name: /^Delete from the disk/ }).click()
    const confirm = page.getByRole('dialog', { name: /^Delete the file of / })
    await confirm.getByText('it also leaves the list').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await confirm.getByRole('button', { name: 'Delete' }).click()
    await expect.poll(() => page.getByRole('cell', { name: /qwen3:1\.7b/ }).count()).toBe(0)
    expect(existsSync(join(app.home, 'models', path))).toBe(false)
    expect(problems).toEqual([])
    await close()
  })

  test('a file of the user is not deleted', async () => {
    const reply = await fetch(`${app.url}/api/model-file?model=own`, { method: 'DELETE' })
    expect([reply.status, await reply.text()]).toEqual([400, expect.stringContaining('is a file of your own')])
    expect((await modelsOf(app)).map(({ id }) => id)).toContain('own')
  })

  test('a failure can be tried again, or dismissed', async () => {
    const { page, dialog, close } = await open()
    await dialog.getByLabel('Name or source').fill('/nowhere/model.gguf')
    await page.keyboard.press('Enter')
    const alert = page.getByRole('alert').filter({ hasText: '/nowhere/model.gguf' })
    await alert.getByRole('button', { name: 'Try again' }).click()
    await alert.getByRole('button', { name: 'Done' }).click()
    await expect.poll(() => alert.count()).toBe(0)
    await close()
  })
})
