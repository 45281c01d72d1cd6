/* global $, SillyTavern, toastr */
// Runs in SillyTavern's page: uses its controls as a user does, and waits for what they start.
globalThis.tavern = (() => {
  const context = () => SillyTavern.getContext()
  const errors = []
  toastr.subscribe(({ state, map }) => {
    if (state === 'visible' && map.type === 'error') errors.push(map.message)
  })
  let endings = 0
  context().eventSource.on('generation_ended', () => {
    endings += 1
  })

  const until = async (holds) => {
    const deadlineMs = performance.now() + 60_000
    while (!holds()) {
      if (performance.now() > deadlineMs) throw new Error(`not true after a minute: ${holds}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const change = (selector, value) => void $(selector).val(value).trigger('input').trigger('change')
  const check = (selector, on) => {
    if ($(selector).prop('checked') !== on) $(selector).prop('checked', on).trigger('input').trigger('change')
  }
  const isIdle = () => document.body.dataset.generating !== 'true' && context().swipe.state() === 'none'
  /** What a click starts: a generation that ends, and the page after it. */
  const generate = async (click) => {
    await until(isIdle)
    const before = endings
    errors.length = 0
    click()
    await until(() => endings > before && isIdle())
    return last()
  }
  const last = () => {
    const { is_user: isUser, mes: text, swipes = [] } = context().chat.at(-1)
    return { text: isUser ? '' : text, swipes, errors: [...errors] }
  }

  return {
    /** Chooses a character, once the page has all of its handlers: before, it asks a new user for a name. */
    open: async (character) => {
      let isReady = false
      context().eventSource.on('app_ready', () => {
        isReady = true
      })
      await until(() => {
        for (const button of document.querySelectorAll('dialog[open] .popup-button-ok')) button.click()
        return isReady
      })
      await context().executeSlashCommandsWithOptions(`/go ${character}`)
    },
    /** Chooses a connection, and waits until the page shows this status and this model in its list. */
    connect: async ({ changes, button, status, list, model }) => {
      for (const [selector, value] of changes) change(selector, value)
      $(button).trigger('click')
      await until(() => context().onlineStatus === status)
      if (list === undefined) return
      await until(() => [...document.querySelectorAll(`${list} option`)].some(({ value }) => value === model))
      change(list, model)
    },
    check,
    newChat: () => context().executeSlashCommandsWithOptions('/newchat'),
    send: (text) => {
      change('#send_textarea', text)
      return generate(() => $('#send_but').trigger('click'))
    },
    swipe: () => generate(() => $('.last_mes .swipe_right').trigger('click')),
    /** Sends, and stops as soon as a text is shown. */
    stop: async (text, shown) => {
      const stopped = tavern.send(text)
      await until(() => $('.last_mes .mes_text').text().includes(shown))
      $('#mes_stop').trigger('click')
      return stopped
    },
    /** The tokens of the last reply in the panel of probabilities, and the candidates for the first. */
    probabilities: async () => {
      const shown = (name) => [...document.querySelectorAll(name)].map(({ textContent }) => textContent)
      if (!$('#logprobs_generation_output').is(':visible')) $('#option_toggle_logprobs').trigger('click')
      await until(() => shown('.logprobs_output_token').length > 0)
      document.querySelector('.logprobs_output_token').click()
      return { tokens: shown('.logprobs_output_token'), candidates: shown('.logprobs_top_candidate') }
    },
  }
})()
