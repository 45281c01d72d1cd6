import type { Browser } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { docxFile, wordParagraph } from '../../support/documents/office-files.ts'
import { pdfFile, scannedPdf } from '../../support/documents/pdf-file.ts'
import { zipFile } from '../../support/documents/zip-file.ts'
import { type RunningApp, startApp } from '../../support/http/app.ts'
import { write } from '../../support/page/chat-words.ts'
import { browserPath, hint, lacks, openBrowser, openServerPage } from '../../support/page/open-page.ts'
import { png } from '../../support/pictures.ts'

/** It beeps once a second, and nobody is asked. */
const fakeMicrophone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream']

describe.skipIf(browserPath === undefined)(`files in the chat of the page, in a browser${hint}`, () => {
  let app: RunningApp
  let browser: Browser
  beforeAll(async () => {
    const tiny = {
      engine: 'llama' as const,
      source: 'builtin:dragoman-tiny.gguf',
      mmproj: 'none',
      contextLength: 512,
      threads: 1,
    }
    const models = [
      { ...tiny, id: 'tiny' },
      { engine: 'fake' as const, id: 'scripted', script: 'from-request' as const },
    ]
    ;[app, browser] = await Promise.all([startApp({ models, builtinModel: false }), openBrowser(fakeMicrophone)])
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })

  const open = async (model: string) => {
    const opened = await openServerPage(browser, app.url, {})
    await opened.page.getByRole('combobox', { name: 'Model' }).selectOption(model)
    const attach = (files: Readonly<Record<string, Buffer>>) =>
      opened.page
        .getByLabel('Attach')
        .setInputFiles(Object.entries(files).map(([name, buffer]) => ({ name, mimeType: 'application/octet-stream', buffer })))
    return { ...opened, attach }
  }

  test.skipIf(lacks('bodies of requests'))('documents and text of any name reach the model as their text', async () => {
    const { page, attach, problems, strangers, close } = await open('scripted')
    await attach({
      'a.docx': docxFile(wordParagraph('In Bremen')),
      'b.pdf': pdfFile(['In Bremen', 'and Ulm']),
      Dockerfile: Buffer.from('FROM scratch'),
    })
    await page.getByRole('button', { name: 'Remove Dockerfile' }).waitFor()
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(page, 'Read')
    expect((await sent).postDataJSON().messages[0].content).toEqual([
      { type: 'text', text: 'File a.docx:\n\nIn Bremen' },
      { type: 'text', text: 'File b.pdf:\n\n## Page 1\nIn Bremen\n\n## Page 2\nand Ulm' },
      { type: 'text', text: 'File Dockerfile:\n\nFROM scratch' },
      { type: 'text', text: 'Read' },
    ])
    expect([...problems, ...strangers]).toEqual([])
    await close()
  })

  test('the pages of a scan reach the model as pictures', async () => {
    const { page, attach, problems, strangers, close } = await open('scripted')
    const dictionary = '/ColorSpace /DeviceGray /BitsPerComponent 8'
    const pages = [10, 200].map((grey) => ({ width: 40, height: 40, dictionary, data: Buffer.alloc(1600, grey) }))
    await attach({ 'scan.pdf': scannedPdf(pages) })
    await page.getByRole('button', { name: 'Remove scan.pdf, picture 2' }).waitFor()
    // Where they are sent cannot be seen, they are drawn all the same.
    if (lacks('bodies of requests')) return close()
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(page, 'Read')
    const { content } = (await sent).postDataJSON().messages[0]
    expect(content.map(({ type }: { type: string }) => type)).toEqual(['image_url', 'image_url', 'text'])
    const greys = content.slice(0, 2).map(async ({ image_url: { url } }: { readonly image_url: { readonly url: string } }) => {
      const { data, info } = await sharp(Buffer.from(url.replace(/^.*base64,/, ''), 'base64'))
        .raw()
        .toBuffer({ resolveWithObject: true })
      return [info.width, info.height, data[0]]
    })
    expect(await Promise.all(greys)).toEqual([
      [40, 40, 10],
      [40, 40, 200],
    ])
    expect([...problems, ...strangers]).toEqual([])
    await close()
  })

  test.skipIf(lacks('bodies of requests'))('pages that are pictures among pages of text keep their places', async () => {
    const { page, attach, close } = await open('scripted')
    const dictionary = '/ColorSpace /DeviceGray /BitsPerComponent 8'
    const scanned = { width: 40, height: 40, dictionary, data: Buffer.alloc(1600, 10) }
    const pages = [{ ...scanned, share: 0.03, text: 'first' }, scanned, { ...scanned, share: 0.03, text: 'last' }]
    await attach({ 'a.pdf': scannedPdf(pages) })
    await page.getByRole('button', { name: 'Remove a.pdf, part 2' }).waitFor()
    const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
    await write(page, 'Read')
    expect((await sent).postDataJSON().messages[0].content).toEqual([
      { type: 'text', text: 'File a.pdf:\n\n## Page 1\nfirst\n\n## Page 2' },
      { type: 'image_url', image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) } },
      { type: 'text', text: 'File a.pdf, part 2:\n\n## Page 3\nlast' },
      { type: 'text', text: 'Read' },
    ])
    await close()
  })

  test('what cannot be read is refused by its name and the reason', async () => {
    const { page, attach, close } = await open('scripted')
    await attach({
      'locked.docx': zipFile({ 'word/document.xml': 'x' }, { flags: 1 }),
      'half.pdf': Buffer.from('%PDF-1.7\n\0'),
      'bomb.docx': docxFile(' '.repeat(101_000_000)),
    })
    await page.getByText('locked.docx was not attached: it is encrypted: remove its password').waitFor()
    await page.getByText('half.pdf was not attached: it is a damaged PDF').waitFor()
    await page.getByText('bomb.docx was not attached: it unpacks to more than 100 MB').waitFor()
    await close()
  })

  test('a file shows its tokens, and that the context does not hold it', async () => {
    const { page, attach, close } = await open('tiny')
    await attach({ 'short.txt': Buffer.from('a few words') })
    await page.getByText(/^\d+ tokens$/).waitFor()
    await attach({ 'long.txt': Buffer.from('many words '.repeat(2000)) })
    await page.getByText(/tokens: the context holds 512/).waitFor()
    await close()
  })

  test('a long paste becomes a file, a short one stays text', async () => {
    const { page, close } = await open('scripted')
    const paste = (text: string) =>
      page.evaluate(`{
        const transfer = new DataTransfer()
        transfer.setData('text/plain', ${JSON.stringify(text)})
        const event = new Event('paste', { bubbles: true, cancelable: true })
        Object.defineProperty(event, 'clipboardData', { value: transfer })
        document.querySelector('.composer-text').dispatchEvent(event)
      }`)
    await paste('short')
    expect(await page.getByText('Pasted text').count()).toBe(0)
    await paste('long '.repeat(1000))
    await page.getByText('Pasted text').waitFor()
    await close()
  })

  test.skipIf(lacks('a microphone'))(
    'where the model hears, the microphone records a WAV file; where it does not, there is none',
    async () => {
      const { page, close } = await open('tiny')
      const record = page.getByRole('button', { name: 'Record a sound' })
      expect(await record.count()).toBe(0)
      await page.getByRole('combobox', { name: 'Model' }).selectOption('scripted')
      await record.click()
      await page.getByText('1 s', { exact: true }).waitFor()
      await page.getByRole('button', { name: 'Stop recording' }).click()
      await page.getByRole('button', { name: 'Remove Recording.wav' }).waitFor()
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await write(page, 'What do you hear?')
      const [{ input_audio: sound }] = (await sent).postDataJSON().messages[0].content
      const wav = Buffer.from(sound.data, 'base64')
      expect([sound.format, wav.toString('latin1', 0, 4), wav.readUInt32LE(24)]).toEqual(['wav', 'RIFF', 16_000])
      expect(wav.length).toBeGreaterThan(1000)
      await close()
    },
  )

  test.skipIf(lacks('bodies of requests'))(
    'a picture for a model that does not see is refused before it is sent, and a model that sees is one click away',
    async () => {
      const { page, close } = await open('tiny')
      await page.getByLabel('Attach').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: png([200, 0, 0]) })
      await page.getByText(/tiny does not read pictures/).waitFor()
      expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
      await page.getByRole('button', { name: 'Use scripted' }).click()
      expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('scripted')
      const sent = page.waitForRequest((request) => request.url().endsWith('/v1/chat/completions'))
      await write(page, 'What is it?')
      expect((await sent).postDataJSON()).toMatchObject({
        model: 'scripted',
        messages: [{ content: [{ type: 'image_url' }, {}] }],
      })
      await close()
    },
  )
})
