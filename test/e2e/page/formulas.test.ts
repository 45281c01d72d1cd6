import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { answers, facts, script, write } from '../../support/page/chat-words.ts'
import { findBarriers } from '../../support/page/find-barriers.ts'
import { formulas } from '../../support/page/formulas.ts'
import { browserPath, hint } from '../../support/page/open-page.ts'
import { useScriptedPage } from '../../support/page/scripted-page.ts'

/** Each in its sentence, or in a paragraph of its own. */
const answer = Object.entries(formulas)
  .map(([name, source]) => (/^(\\\[|\$\$)/.test(source) ? `${name}:\n\n${source}` : `${name}: ${source}, and more.`))
  .join('\n\n')

describe.skipIf(browserPath === undefined)(`formulas in answers, in a browser${hint}`, () => {
  const { open } = useScriptedPage()
  const drawn = (page: Page) => answers(page).locator('.formula math')
  const resources = (page: Page) =>
    page.evaluate('performance.getEntriesByType("resource").map(({ name }) => name).join(" ")') as Promise<string>

  test('those that reasoning models write are drawn, with parentheses as high as what is in them, and copied as their source', async () => {
    const { page, strangers, problems, close } = await open()
    expect(await resources(page)).not.toMatch(/formula-drawing|woff2/)
    await write(page, script({ raw: answer }))
    await facts(page).waitFor()
    await expect.poll(() => drawn(page).count()).toBe(Object.keys(formulas).length)
    expect(await answers(page).locator('code.formula').allTextContents()).toEqual([])
    expect(await resources(page)).toMatch(/stix-two-math/)
    const heights = await drawn(page)
      .filter({ hasText: 'ad' })
      .locator('mo')
      .evaluateAll((signs) => signs.filter((sign) => sign.textContent === '(').map((sign) => sign.getBoundingClientRect().height))
    expect(Math.min(...heights)).toBeGreaterThan(30)
    await page.evaluate('document.activeElement.blur()')
    await page.evaluate('getSelection().selectAllChildren(document.querySelector("article.answer .md"))')
    await page.evaluate('addEventListener("copy", ({ clipboardData }) => (window.copied = clipboardData.getData("text/plain")))')
    await page.keyboard.press('ControlOrMeta+c')
    // Keys that an inspector presses in WebKit copy nothing, and Firefox copies by keys only.
    const copied = (await page.evaluate('window.copied ?? (document.execCommand("copy"), window.copied)')) as string
    for (const [name, source] of Object.entries(formulas)) expect(copied, name).toContain(source)
    expect(copied).toContain('a square: \\(a^2 + b^2 = c^2\\), and more.\n\nthe roots of a quadratic:\n\n\\[ x')
    expect([...strangers, ...problems]).toEqual([])
    await close()
  })

  test.each([false, true])('fit on a phone, and are no barrier (dark: %s)', async (isDark) => {
    const { page, close } = await open({ width: 360, height: 800, isDark })
    await write(page, script({ raw: answer }))
    await facts(page).waitFor()
    await expect.poll(() => drawn(page).count()).toBe(Object.keys(formulas).length)
    expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(0)
    expect(await page.locator('.pane-room').evaluate((room) => room.scrollWidth - room.clientWidth)).toBe(0)
    expect(await findBarriers(page)).toEqual([])
    await close()
  })

  test('prices stay text, and what is no TeX, or attacks, stays as it was written', async () => {
    const { page, problems, close } = await open()
    const broken = [
      '\\(\\frac{1\\)',
      '\\[ \\foobar{x} \\]',
      '$\\href{javascript:window.pwned=1}{x}$',
      '$\\includegraphics{https://evil.example/x.png}$',
      `$\\def\\a{\\a\\a}\\a$`,
      `$${'{'.repeat(900)}x${'}'.repeat(900)}$`,
    ]
    const raw = ['From $5 to $10, or $1,000 in US$.', ...broken, '$x \\label{place}$ $y$', '```\n\\[ code \\]\n```'].join('\n\n')
    await write(page, script({ raw }))
    await facts(page).waitFor()
    await expect.poll(() => drawn(page).last().textContent()).toBe('y')
    await answers(page).getByText('From $5 to $10, or $1,000 in US$.').waitFor()
    const written = await answers(page).locator('code.formula').allTextContents()
    expect(written).toEqual(expect.arrayContaining(broken.slice(0, 5)))
    expect(await answers(page).locator('.md-code pre').textContent()).toBe('\\[ code \\]\n')
    expect(await answers(page).locator('.md [id], .md [href], .md img').count()).toBe(0)
    expect(await page.evaluate('window.pwned')).toBeUndefined()
    expect(problems).toEqual([])
    await close()
  })

  test('while an answer grows, nothing that is drawn goes away or moves up; one without an end is shown when the answer ended', async () => {
    const { page, close } = await open()
    await page.evaluate(`{
      window.removed = []
      window.drops = []
      let height = 0
      const measure = () => {
        const now = document.querySelector('article.answer .md')?.getBoundingClientRect().height ?? 0
        if (now < height) window.drops.push(height - now)
        height = now
        requestAnimationFrame(measure)
      }
      requestAnimationFrame(measure)
      new MutationObserver((all) => {
        for (const { target, removedNodes } of all) if (target !== document.body) for (const node of removedNodes) if (node.querySelector?.('math') != null) window.removed.push(node.outerHTML)
      }).observe(document.body, { subtree: true, childList: true })
    }`)
    const text = `${answer}\n\nIt ends in \\[ \\frac{1}{2`
    const chunks = text.match(/[\s\S]{1,5}/g) ?? []
    await write(page, script({ chunks, delayMs: 4 }))
    await facts(page).waitFor()
    expect(await page.evaluate('window.drops')).toEqual([])
    expect(await page.evaluate('window.removed')).toEqual([])
    expect(await answers(page).locator('code.formula').textContent()).toBe('\\[ \\frac{1}{2')
    expect(await page.evaluate('getComputedStyle(document.querySelector("code.formula")).overflow')).toBe('visible')
    await close()
  })
})
