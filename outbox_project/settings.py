"""Settings, from the environment only; `.env.example` lists and explains every variable.

Without DEBUG nothing secret has a default and every protection is on; with DEBUG a bare clone runs.
"""

from pathlib import Path

import environ

from outbox_project.databases import database_from_url
from outbox_project.environment import choice, given, required, switch, whole_number
from outbox_project.log_format import FORMATS, LEVELS, configure_structlog, logging_config
from outbox_project.routers import TARGET

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
# What the process already has wins over the file.
_env_file = BASE_DIR / env.str("OUTBOX_ENV_FILE", default=".env")
if _env_file.is_file():
    env.read_env(_env_file)

DEBUG = switch(env, "DEBUG", default=False)
INSECURE_DEVELOPMENT_KEY = "django-insecure-development-key-which-only-debug-accepts"
SECRET_KEY = env.str("SECRET_KEY", default=INSECURE_DEVELOPMENT_KEY) if DEBUG else required(env, "SECRET_KEY")
if not DEBUG:
    required(env, "ALLOWED_HOSTS")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

# --- Protections: on outside DEBUG, each with a switch of its own
SECURE_SSL_REDIRECT = switch(env, "SECURE_SSL_REDIRECT", default=not DEBUG)
SECURE_HSTS_SECONDS = whole_number(env, "SECURE_HSTS_SECONDS", default=0 if DEBUG else 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = switch(env, "SECURE_HSTS_INCLUDE_SUBDOMAINS", default=not DEBUG)
SECURE_HSTS_PRELOAD = switch(env, "SECURE_HSTS_PRELOAD", default=not DEBUG)
SESSION_COOKIE_SECURE = switch(env, "SESSION_COOKIE_SECURE", default=not DEBUG)
CSRF_COOKIE_SECURE = switch(env, "CSRF_COOKIE_SECURE", default=not DEBUG)
X_FRAME_OPTIONS = choice(env, "X_FRAME_OPTIONS", allowed=("DENY", "SAMEORIGIN"), default="DENY")
# Off by default: a client that is not behind such a proxy could set the header itself.
if switch(env, "TRUST_X_FORWARDED_PROTO", default=False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# --- The project
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "outbox.apps.OutboxConfig",
    "transitions.apps.TransitionsConfig",
    # A deployment's own apps, for example the one with its executors.
    *env.list("OUTBOX_EXTRA_APPS", default=[]),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "outbox_project.urls"
WSGI_APPLICATION = "outbox_project.wsgi.application"
ASGI_APPLICATION = "outbox_project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# --- Databases: `default` holds the outbox, `target` is what sql steps change
DATABASES = {
    "default": database_from_url(
        env.str("DATABASE_URL", default="") or f"sqlite:///{BASE_DIR / 'db.sqlite3'}", variable="DATABASE_URL"
    )
}
if _target_url := env.str("TARGET_DATABASE_URL", default=""):
    DATABASES[TARGET] = database_from_url(_target_url, variable="TARGET_DATABASE_URL", test_prefix="test_target_")
DATABASE_ROUTERS = ["outbox_project.routers.TargetRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Language, time, files
LANGUAGE_CODE = "en-us"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
STATIC_URL = "static/"
STATIC_ROOT = env.str("STATIC_ROOT", default=str(BASE_DIR / "staticfiles"))

# --- Logging
configure_structlog()
LOGGING = logging_config(
    log_format=choice(env, "OUTBOX_LOG_FORMAT", allowed=FORMATS, default="console" if DEBUG else "json"),
    level=choice(env, "OUTBOX_LOG_LEVEL", allowed=LEVELS, default="INFO"),
)

# --- The outbox: numbers stay the text that was given; `outbox.conf` reads them, and a system check reports a bad one
OUTBOX = {
    "POLLING_ENABLED": switch(env, "OUTBOX_POLLING_ENABLED", default=True),
    "SKIP_LOCKED": switch(env, "OUTBOX_SKIP_LOCKED", default=True),
    "EXECUTOR_CODE": env.str("OUTBOX_EXECUTOR_CODE", default="") or "dry-run:v1",
    **given(
        env,
        {
            option: f"OUTBOX_{option}"
            for option in (
                "POLL_INTERVAL_SECONDS",
                "BATCH_SIZE",
                "LEASE_SECONDS",
                "RENEW_SECONDS",
                "CONCURRENCY",
                "MAX_DELIVERIES",
                "SHUTDOWN_SECONDS",
                "DEADLINE_SECONDS",
                "MAX_STEP_ATTEMPTS",
            )
        },
    ),
}
