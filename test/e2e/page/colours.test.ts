import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { codeSamples } from '../../support/page/code-samples.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { importLargeAnswer, openLargeAnswer } from '../../support/page/large-answer.ts'
import { watchMainThread } from '../../support/page/main-thread.ts'
import { browserPath, hint, lacks } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

const fence = (language: string, code: string) => `\`\`\`${language}\n${code}\`\`\`\n`
const spans = (page: Page) => answers(page).locator('.md-code pre span[class^="code-"]')

describe.skipIf(browserPath === undefined)(`colours in code, in a browser${hint}`, () => {
  const { open } = useScriptedPage()

  test.skipIf(lacks('a tall window')).each([false, true])(
    'all languages have some, which can be read; the code stays as it was written (dark: %s)',
    async (isDark) => {
      // High enough for all of it to be in sight.
      const { page, strangers, problems, close } = await open({ isDark, height: 8000 })
      const resources = () => page.evaluate('performance.getEntriesByType("resource").map(({ name }) => name).join(" ")')
      expect(await resources()).not.toMatch(/worker|colour/)
      await write(page, script({ raw: codeSamples.map(([language, code]) => fence(language, code)).join('\n') }))
      await facts(page).waitFor()
      for (const [index, [language, code, tokens]] of codeSamples.entries()) {
        const block = answers(page).locator('.md-code').nth(index)
        await block.locator('pre span[class^="code-"]').first().waitFor()
        expect(await block.locator('pre').textContent(), language).toBe(code)
        for (const [text, kind] of tokens) {
          expect((await block.locator(`.code-${kind}`).allTextContents()).join(' '), `${language}: ${text}`).toContain(text)
        }
      }
      expect(await resources()).toMatch(/worker/)
      expect(await findBarriers(page)).toEqual([])
      expect([...strangers, ...problems]).toEqual([])
      await close()
    },
  )

  test('code in a list has them; code of no language, and code that still grows, has none', async () => {
    const { page, close } = await open()
    const raw = `- a list:\n  ${fence('js', '  const a = 1\n  ')}\n${fence('', 'const b = 2\n')}\n${fence('nonsense', 'const c = 3\n')}\n\`\`\`ts\n`
    await write(page, script({ raw: `${raw}${'const d = 4\n'.repeat(2000)}`, delayMs: 20 }))
    await answers(page).locator('li .code-keyword').getByText('const').waitFor()
    await answers(page).locator('.md-code').nth(3).getByText('const d').first().waitFor()
    expect(await spans(page).count()).toBe(2)
    await page.keyboard.press('Escape')
    await facts(page).getByText('stopped').waitFor()
    await answers(page).locator('.md-code').nth(3).locator('.code-keyword').first().waitFor()
    // Copied as it was written.
    await answers(page).locator('.md-code').first().getByRole('button', { name: 'Copy' }).click()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('const a = 1\n')
    await close()
  })

  test.skipIf(lacks('the main thread'))('five thousand lines get theirs in small steps, where a reader is', async () => {
    const { page, close } = await open()
    const line = 'export async function read(path: string): Promise<number> { return path.length + 1.5 } // one\n'
    const code = line.repeat(5000)
    await importLargeAnswer(page, `${fence('ts', code)}\n\nthe end`)
    await page.evaluate(`{
      window.painted = []
      let inFrame = 0
      const count = () => { if (inFrame > 0) window.painted.push(inFrame); inFrame = 0; requestAnimationFrame(count) }
      requestAnimationFrame(count)
      new MutationObserver((all) => {
        inFrame += new Set(all.filter(({ addedNodes }) => [...addedNodes].some(({ className }) => /^code-/.test(className))).map(({ target }) => target)).size
      }).observe(document.body, { subtree: true, childList: true })
    }`)
    const { scriptMs, layoutMs, styleMs } = await watchMainThread(page, async () => {
      await openLargeAnswer(page)
      await spans(page).first().waitFor()
      await page.locator('.pane-room').evaluate((room) => {
        room.scrollTop = room.scrollHeight / 2
      })
      await expect.poll(() => page.evaluate('window.painted.length')).toBeGreaterThan(3)
    })
    const painted = (await page.evaluate('window.painted')) as number[]
    expect(Math.max(...painted)).toBe(1)
    const pieces = await answers(page).locator('.md-piece').count()
    expect(painted.length).toBeLessThan(pieces / 2)
    expect((scriptMs + layoutMs + styleMs) / painted.length).toBeLessThan(50)
    expect(await answers(page).locator('.md-code pre').textContent()).toBe(code)
    await close()
  })
})
