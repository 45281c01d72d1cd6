import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { wavOf } from '../../../web/src/places/chat/voice/wav.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { facts, write } from '../../support/page/chat-words.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'

const remove = (page: Page, name: string) => page.getByRole('button', { name: `Remove ${name}` })

/** Files come to an element, as a browser would give them. Resolves with whether the page has taken them. */
const give = (page: Page, event: string, on: string, data: string) =>
  page.evaluate(`(() => {
    const file = (name, type, text = 'text') => new File([text], name, { type })
    const event = new Event(${JSON.stringify(event)}, { bubbles: true, cancelable: true })
    const data = { types: ['Files'], getData: () => '', ...${data} }
    Object.defineProperty(event, ${JSON.stringify(event)} === 'paste' ? 'clipboardData' : 'dataTransfer', { value: data })
    document.querySelector(${JSON.stringify(on)}).dispatchEvent(event)
    return event.defaultPrevented
  })()`)

describe.skipIf(browserPath === undefined)(`what is attached in the chat of the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const models = [{ engine: 'fake' as const, id: 'scripted', script: 'from-request' as const }]
    ;[app, browser] = await Promise.all([startApp({ models }), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })
  const open = async () => {
    const opened = await openServerPage(browser, app.url)
    await opened.page.getByRole('combobox', { name: 'Model' }).waitFor()
    return opened
  }

  test('a file is dropped anywhere in the chat; in another place, it does not take the place of the page', async () => {
    const { page, close } = await open()
    const drop = (on: string) => give(page, 'drop', on, "{ files: [file('a.txt', 'text/plain')] }")
    expect(await give(page, 'dragover', '.pane-room', '{ files: [] }')).toBe(true)
    await page.getByText('Drop files to attach them').waitFor()
    expect(await drop('.pane-room')).toBe(true)
    await remove(page, 'a.txt').waitFor()
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
    expect([await drop('h1'), await give(page, 'drop', 'h1', '{ types: [], files: [] }')]).toEqual([true, false])
    await close()
  })

  test('what was attached waits with its message while others are looked at', async () => {
    const { page, close } = await open()
    await write(page, 'FIRST')
    await facts(page).waitFor()
    await page.getByLabel('Attach').setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
    await remove(page, 'a.txt').waitFor()
    await page.getByRole('button', { name: 'New chat' }).click()
    await remove(page, 'a.txt').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.goBack()
    await page.goBack()
    await remove(page, 'a.txt').waitFor()
    await write(page, 'SECOND')
    await facts(page).nth(1).waitFor()
    expect(await remove(page, 'a.txt').count()).toBe(0)
    await close()
  })

  test('what the model reads of a file is shown before and after it is sent', async () => {
    const { page, problems, close } = await open()
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=='
    await page.getByLabel('Attach').setInputFiles([
      { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from(`ALL OF IT ${'x'.repeat(100_000)}END`) },
      { name: 'b.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') },
    ])
    await remove(page, 'b.png').waitFor()
    const dialog = page.getByRole('dialog')
    const look = async (title: string) => {
      await page.getByTitle(`Show ${title}`).click()
      await dialog.getByRole('heading', { name: title }).waitFor()
    }
    await look('a.txt')
    await dialog.getByText('ALL OF IT').waitFor()
    await dialog.getByText('The first 100,000 of 100,013 characters:').waitFor()
    expect(await dialog.getByText('END').count()).toBe(0)
    await page.keyboard.press('Escape')
    await look('b.png')
    await dialog.getByAltText('b.png').waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await remove(page, 'b.png').click()
    await write(page, 'FIRST')
    await facts(page).waitFor()
    await look('a.txt')
    await dialog.getByText('ALL OF IT').waitFor()
    expect(problems).toEqual([])
    await close()
  })

  test.skipIf(lacks('sound'))('a sound that is attached can be heard', async () => {
    const { page, problems, close } = await open()
    const buffer = Buffer.from(wavOf(new Float32Array(8000), 8000))
    await page.getByLabel('Attach').setInputFiles({ name: 'a.wav', mimeType: 'audio/wav', buffer })
    await page.getByTitle('Show a.wav').click()
    const length = () => page.locator('audio').evaluate((sound) => (sound as { duration?: number }).duration)
    await expect.poll(length).toBe(1)
    expect(problems).toEqual([])
    await close()
  })

  test('a folder, or a file that is gone, is named, and the others are attached', async () => {
    const { page, close } = await open()
    const gone =
      "Object.defineProperty(file('folder', ''), 'arrayBuffer', { value: () => Promise.reject(new Error('not found.')) })"
    await give(page, 'drop', '.pane-room', `{ files: [${gone}, file('a.txt', 'text/plain')] }`)
    await page.getByText('folder was not attached: it cannot be read: not found.', { exact: true }).waitFor()
    await remove(page, 'a.txt').waitFor()
    await close()
  })

  test('what a spreadsheet copies is pasted as text, and a picture by itself as a picture', async () => {
    const { page, close } = await open()
    const picture = "file('image.png', 'image/png')"
    const paste = (text: string, types: string) =>
      give(page, 'paste', '.composer-text', `{ types: [${types}], files: [${picture}], getData: () => ${JSON.stringify(text)} }`)
    expect(await paste('a\tb', "'text/plain', 'text/html', 'Files'")).toBe(false)
    expect(await paste('', "'text/html', 'Files'")).toBe(true)
    await remove(page, 'image.png').waitFor()
    expect(await remove(page, 'image.png').count()).toBe(1)
    await close()
  })

  test('a photo is sent as small as models read it', async () => {
    const { page, problems, close } = await open()
    const bytes = await page.evaluate<number>(`(async () => {
      const canvas = new OffscreenCanvas(3000, 2000)
      const context = canvas.getContext('2d')
      const pixels = context.createImageData(3000, 2000)
      for (let at = 0; at < pixels.data.length; at += 1) pixels.data[at] = Math.random() * 256
      context.putImageData(pixels, 0, 0)
      const photo = await canvas.convertToBlob({ type: 'image/jpeg' })
      const event = new Event('drop', { bubbles: true, cancelable: true })
      Object.defineProperty(event, 'dataTransfer', { value: { files: [new File([photo], 'a.jpg', { type: 'image/jpeg' })] } })
      document.querySelector('.pane-room').dispatchEvent(event)
      return photo.size
    })()`)
    const shown = page.locator('.attachments img')
    await shown.waitFor()
    await expect.poll(() => shown.evaluate((image) => (image as { naturalWidth?: number }).naturalWidth)).toBe(2048)
    const sent = (await shown.getAttribute('src')) ?? ''
    expect(sent.slice(0, 23)).toBe('data:image/jpeg;base64,')
    expect(sent.length * 0.75).toBeLessThan(bytes * 0.75)
    expect(problems).toEqual([])
    await close()
  })

  test.each(['png', 'webp'])('what a small %s lets through is sent as white', async (kind) => {
    const { page, problems, close } = await open()
    await page.evaluate(`(async () => {
      const canvas = new OffscreenCanvas(40, 30)
      canvas.getContext('2d').fillRect(20, 10, 20, 20)
      const picture = await canvas.convertToBlob({ type: 'image/${kind}' })
      const event = new Event('drop', { bubbles: true, cancelable: true })
      Object.defineProperty(event, 'dataTransfer', { value: { files: [new File([picture], 'a', { type: picture.type })] } })
      document.querySelector('.pane-room').dispatchEvent(event)
    })()`)
    const shown = page.locator('.attachments img')
    await shown.waitFor()
    expect(await shown.getAttribute('src')).toMatch(/^data:image\/(png|jpeg);/)
    const corner = `(async (image) => {
      await image.decode()
      const context = new OffscreenCanvas(40, 30).getContext('2d')
      context.drawImage(image, 0, 0)
      return context.getImageData(0, 0, 1, 1).data.join()
    })(document.querySelector('.attachments img'))`
    expect(await page.evaluate(corner)).toBe('255,255,255,255')
    expect(problems).toEqual([])
    await close()
  })
})
