const billingLine = /^\s*x-anthropic-billing-header:[^\n]*(?:\n\s*|$)/i

/**
 * A system prompt without the line that Claude Code puts before it. The line changes between sessions, and in older versions with each
 * request, which would defeat the prompt cache. Gateways pass it on in other protocols, too.
 */
export function withoutBillingLine(text: string): string {
  return text.replace(billingLine, '')
}
