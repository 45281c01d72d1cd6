import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeWav } from '../../../src/base/wav.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { listenOnLoopback } from '../../support/upstream/loopback.ts'

const fake = { engine: 'fake' as const, id: 'org/scripted', aliases: ['default'], script: 'from-request' }
const sound = (seconds: number) => writeWav(Buffer.alloc(48_000 * seconds), { frameBytes: 2, framesPerSecond: 24_000 })
/** A device with two voices, of which one needs a network. */
const voices = `
  const voices = [{ name: 'far', lang: 'en-US', localService: false }, { name: 'near', lang: 'en-US', localService: true }]
  window.spoken = []
  Object.defineProperty(window, 'SpeechSynthesisUtterance', { value: class { constructor(text) { this.text = text } } })
  Object.defineProperty(window, 'speechSynthesis', { value: Object.assign(new EventTarget(), {
    getVoices: () => voices,
    cancel: () => undefined,
    speak: (each) => { window.spoken.push([each.voice.name, each.text]); each.onend() },
  }) })
`

describe.skipIf(browserPath === undefined)(`answers are read aloud, in a browser${hint}`, () => {
  let app: RunningApp
  let bare: RunningApp
  let browser: Browser
  let studio: Awaited<ReturnType<typeof listenOnLoopback>>
  const asked: unknown[] = []
  beforeAll(async () => {
    studio = await listenOnLoopback(async (request, response) => {
      if (request.method === 'GET') {
        const isVoices = request.url?.includes('/voices') === true
        response.setHeader('content-type', 'application/json').end(isVoices ? '{"voices":["sky",{"id":"sea"}]}' : '{"data":[]}')
        return
      }
      let body = ''
      for await (const piece of request) body += piece
      asked.push(JSON.parse(body))
      response.setHeader('content-type', 'audio/wav').end(sound(asked.length === 1 ? 1 : 60))
    })
    const endpoints = [{ url: `${studio.origin}/v1` }]
    const services = { services: ['speech' as const], server: 'openai' as const }
    const voice = { engine: 'remote' as const, id: 'studio', endpoints, upstreamModel: 'up', probe: false, ...services }
    ;[app, bare, browser] = await Promise.all([
      startApp({ models: [fake, voice] }),
      startApp({ models: [fake] }),
      openBrowser(['--autoplay-policy=no-user-gesture-required']),
    ])
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([app?.close(), bare?.close(), studio?.close()])
  })

  test.skipIf(lacks('sound'))('by a model of the server, without their code, until their end or a second press', async () => {
    const { page, problems, close } = await openServerPage(browser, app.url, { width: 360, height: 700 })
    await write(page, script({ raw: '# Tides\n\n*Twice* a day:\n\n```sh\ndate\n```\n\n- high\n- low' }))
    await facts(page).waitFor()
    const read = answers(page).getByRole('button', { name: 'Read aloud with studio' })
    const stop = answers(page).getByRole('button', { name: 'Stop reading' })
    await read.click()
    await stop.waitFor()
    await read.waitFor()
    expect(asked).toEqual([{ model: 'up', input: 'Tides\nTwice a day:\nhigh\nlow', voice: 'sky', response_format: 'wav' }])
    await read.click()
    await expect.poll(() => asked.length).toBe(2)
    expect(await findBarriers(page)).toEqual([])
    await stop.click()
    await read.waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test('without one, only by a voice that needs no network', async () => {
    const { page, context, close } = await openServerPage(browser, bare.url)
    await write(page, script({ raw: 'Twice a day.' }))
    await facts(page).waitFor()
    expect(
      await answers(page)
        .getByRole('button', { name: /^Read aloud/ })
        .count(),
    ).toBe(0)
    await context.addInitScript(voices)
    await page.reload()
    await answers(page).getByRole('button', { name: 'Read aloud with a voice of this device' }).click()
    await expect.poll(() => page.evaluate('window.spoken')).toEqual([['near', 'Twice a day.']])
    await close()
  })
})
