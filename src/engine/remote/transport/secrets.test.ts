import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodings } from '../../../../test/support/encodings.ts'
import { hiding, keepSecret, withoutSecrets } from './secrets.ts'

function keep(...values: string[]): void {
  onTestFinished(keepSecret(values))
}

const secretText = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_+/=%&"\\<.~'), minLength: 20, maxLength: 60 })

describe('secrets', () => {
  test.each(Object.entries(encodings))('secrets are masked %s', (_, encode) => {
    fc.assert(
      fc.property(secretText, fc.string(), fc.string(), (secret, before, after) => {
        const forget = keepSecret([secret])
        const shown = withoutSecrets(`${before} ${encode(secret)} ${after}`)
        forget()
        expect(shown).not.toContain(encode(secret))
        expect(shown).not.toContain(secret.slice(0, 14))
      }),
      { numRuns: 25 },
    )
  })

  test('secrets are all that is masked', () => {
    keep('sk-0123456789abcdefghij', 'none')
    for (const text of ['The key %s is wrong', '100 % of "it" &amp; more', 'sk-other', 'none', ''])
      expect(withoutSecrets(text)).toBe(text)
  })

  test('secrets are forgotten with the last of their servers', () => {
    const forget = [keepSecret(['sk-0123456789abcdefghij']), keepSecret(['sk-0123456789abcdefghij'])]
    forget[0]?.()
    expect(withoutSecrets('sk-0123456789abcdefghij')).toBe('…')
    forget[1]?.()
    expect(withoutSecrets('sk-0123456789abcdefghij')).toBe('sk-0123456789abcdefghij')
  })
})

describe("a request's own secret", () => {
  const secret = 'sk-0123456789abcdefghij'

  test("a request's own secret is masked in its texts, literal and encoded", () => {
    const hide = hiding(secret)
    for (const encode of Object.values(encodings)) expect(hide(`said: ${encode(secret)}`)).not.toContain(encode(secret))
  })

  test("a request's own secret is text in all others", () => {
    expect(withoutSecrets(`said: ${secret}`)).toBe(`said: ${secret}`)
    expect(hiding('another-secret-of-a-request')(secret)).toBe(secret)
  })

  test("a request's own secret is not looked for where it is too short to be one", () => {
    expect(hiding('none')('none of it')).toBe('none of it')
    expect(hiding('test-key')('a test-key')).toBe('a …')
  })
})
